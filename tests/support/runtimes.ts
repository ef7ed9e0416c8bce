/** The runtimes on which programs of this package run, for tests that try several. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { DENO, newestNode, oldestNode } from '@elysia-microservices/test-support'
import { bun, programFile, rootFolder, testsFolder } from '../workspace.ts'

const run = promisify(execFile)

/** Elysia's adapter uses SO_REUSEPORT, which Deno only has with a flag. */
const DENO_FLAGS = ['run', '-A', '--no-check', '--unstable-net']

/** A runtime of our programs. */
export interface Runtime {
  readonly name: string
  /**
   * The command that runs a program, once the runtime is installed.
   * @param program the path of its source from the tests' folder, without extension
   */
  commandOf(program: string): Promise<readonly [string, ...string[]]>
}

let installed: Promise<unknown> | undefined

function runtime(name: string, command: readonly [string, ...string[]], isInstalled: boolean): Runtime {
  return {
    name,
    async commandOf(program) {
      if (!isInstalled) {
        installed ??= run(bun, ['tools/scripts/install.ts', 'tools/runtimes'], { cwd: rootFolder })
        await installed
      }
      return [...command, join(testsFolder, programFile(program, name === 'Bun'))]
    }
  }
}

/** All runtimes. */
export const RUNTIMES: readonly Runtime[] = [
  runtime('Bun', [bun], true),
  runtime('Node 20', [oldestNode()], oldestNode() === 'node'),
  runtime('Node 24', [newestNode()], false),
  runtime('Deno', [DENO, ...DENO_FLAGS], false)
]

/** The runtimes on which tests of several packages and processes do not run as a whole. */
export const OTHER_RUNTIMES: readonly Runtime[] = RUNTIMES.slice(2)

/**
 * The command that runs a program on the runtime of this process.
 * @param program the path of its source from the tests' folder, without extension
 */
export function ownCommand(program: string): readonly [string, ...string[]] {
  const flags = 'Deno' in globalThis ? DENO_FLAGS : []
  return [process.execPath, ...flags, programFile(program)]
}
