/** The entry point of the command line, for the program of the package `elysia-microservices`. */
import { createRequire } from 'node:module'
import { text } from 'node:stream/consumers'
import { run } from './run.ts'

/** Runs a command line in this process, and sets the code that it ends with. */
export async function main(args: readonly string[]): Promise<void> {
  const { version } = createRequire(import.meta.url)('@elysia-microservices/cli/package.json') as {
    readonly version: string
  }
  // A reader of the output may have enough, such as `head`.
  process.stdout.on('error', () => process.exit())
  process.exitCode = await run(args, {
    out: (line) => process.stdout.write(`${line}\n`),
    error: (line) => process.stderr.write(`${line}\n`),
    isTerminal: process.stdout.isTTY === true,
    stdin: () => text(process.stdin),
    version
  })
}
