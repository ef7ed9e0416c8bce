/**
 * The entry point of the package: for `microservices.config.ts`, and for the program of the package
 * `elysia-microservices`.
 */
import { createRequire } from 'node:module'
import { text } from 'node:stream/consumers'

export {
  type DevConfig,
  type DevEngine,
  type DevService,
  defineConfig,
  type EngineName,
  type Runtime
} from './dev/config.ts'

/** Runs a command line in this process, and sets the exit code of the process. */
export async function main(args: readonly string[]): Promise<void> {
  const { version } = createRequire(import.meta.url)('@elysia-microservices/cli/package.json') as {
    readonly version: string
  }
  // The import is dynamic, because configuration files import this module, too, and do not need the commands.
  const { run } = await import('./run.ts')
  // A program that reads the output may end early, such as `head`. Then this process ends; only `dev` has to end
  // its services first.
  if (args[0] !== 'dev') process.stdout.on('error', () => process.exit())
  process.exitCode = await run(args, {
    out: (line) => process.stdout.write(`${line}\n`),
    error: (line) => process.stderr.write(`${line}\n`),
    isTerminal: process.stdout.isTTY === true,
    stdin: () => text(process.stdin),
    stdout: process.stdout,
    version
  })
  // The file of a service may have started it, and nothing is left to do.
  if (args[0] === 'proto') process.exit()
}
