/** The two runtimes: the one of this process, and the commands that run a program of the bench on each. */
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { BenchError } from '../errors.ts'
import { BENCH_FOLDER } from './folder.ts'

export const runtimes = ['bun', 'node'] as const
export type Runtime = (typeof runtimes)[number]

export const currentRuntime: Runtime = process.versions.bun === undefined ? 'node' : 'bun'

/**
 * The command that runs a program, given as a path without extension below the bench's folder. Bun runs the source,
 * Node the compiled file. Both can be told to collect garbage. The bench of another checkout is in another folder.
 *
 * @throws BenchError the runtime or the compiled program is missing
 */
export function commandFor(runtime: Runtime, program: string, folder = BENCH_FOLDER): string[] {
  if (runtime === 'bun') return [executable('bun'), join(folder, `${program}.ts`)]
  const compiled = join(folder, 'dist', `${program}.js`)
  if (!existsSync(compiled)) {
    throw new BenchError(
      `--runtime=node runs dist/${program}.js, which does not exist. Run \`npm run build\` first.`
    )
  }
  return [executable('node'), '--expose-gc', compiled]
}

function executable(runtime: Runtime): string {
  if (runtime === currentRuntime) return process.execPath
  const path = which(runtime)
  if (path !== undefined && isReally(runtime, path)) return path
  const name = runtime === 'bun' ? 'Bun' : 'Node'
  throw new BenchError(`--runtime=${runtime} needs ${name} on the PATH, which was not found.`)
}

/**
 * Whether a program is really this runtime: without Node, `bun run` puts Bun on the PATH as `node`, and Bun would be
 * measured.
 */
function isReally(runtime: Runtime, path: string): boolean {
  const { stdout } = spawnSync(path, ['-p', 'process.versions.bun ? "bun" : "node"'], { encoding: 'utf8' })
  return stdout?.trim() === runtime
}

/** The path of a program on the PATH. */
export function which(name: string): string | undefined {
  const { PATH = '' } = process.env
  return PATH.split(delimiter)
    .map((folder) => join(folder, name))
    .find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
