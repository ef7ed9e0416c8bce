/** How a command of the bench ends: its output complete, its servers gone, its exit code right. */
import { UsageError } from '../options/flags.ts'
import { ServerError } from './server-process.ts'

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const

/** Writes all of `text` to stdout, also to a pipe that is read slowly. */
export async function print(text: string): Promise<void> {
  await Bun.write(Bun.stdout, text)
}

/**
 * Runs a command and ends the process with the code it returns. Errors are told on stderr: code 2 for a
 * `UsageError`, else 1. Whatever ends the command, a signal included, `cleanUp` has been awaited before.
 */
export async function runCommand(
  command: () => Promise<number>,
  cleanUp: () => Promise<void>
): Promise<never> {
  const end = async (code: number): Promise<never> => {
    await cleanUp()
    process.exit(code)
  }
  const fail = (error: unknown): Promise<never> => {
    console.error(describe(error))
    return end(error instanceof UsageError ? 2 : 1)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void end(EXIT_CODES[signal]))
  process.once('uncaughtException', fail)
  process.once('unhandledRejection', fail)
  try {
    return await end(await command())
  } catch (error) {
    return await fail(error)
  }
}

/** The message alone of errors that are for the person; everything of those that are for us. */
function describe(error: unknown): string {
  if (error instanceof UsageError) return `${error.message}\nSee --help.`
  if (error instanceof ServerError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
