/** How a command of the bench ends: with its whole output, without running servers, and with the right exit code. */
import { BenchError, UsageError } from '../errors.ts'
import { deferred } from './deferred.ts'

const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const

/** Writes the whole text to stdout, also to a pipe that is read slowly. */
export async function print(text: string): Promise<void> {
  const written = deferred()
  process.stdout.write(text, () => written.resolve())
  await written.promise
}

/** A command in the form in which it can be typed again. */
export const commandLine = (command: string, args: readonly string[]): string =>
  [
    command,
    ...args.map((arg) => (/^[\w=.,:/@%+-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`))
  ].join(' ')

/**
 * Runs a command and ends the process with its returned code, or with 2 for a `UsageError` and 1 for any other error,
 * which is printed on stderr. In every case, also after a signal, `cleanUp` is awaited before.
 */
export async function runCommand(
  command: () => Promise<number>,
  cleanUp: () => Promise<void>
): Promise<never> {
  let ending: Promise<never> | undefined
  const end = async (code: number): Promise<never> => {
    try {
      await cleanUp()
    } catch (error) {
      // The process must end although its clean-up has failed.
      console.error(describe(error))
      process.exit(code === 0 ? 1 : code)
    }
    process.exit(code)
  }
  /** Only the first reason is reported: stopping causes further errors. */
  const endOnce = (code: number, complaint = ''): Promise<never> => {
    if (ending === undefined && complaint !== '') console.error(complaint)
    ending ??= end(code)
    return ending
  }
  const fail = (error: unknown) => endOnce(error instanceof UsageError ? 2 : 1, describe(error))

  for (const [signal, code] of Object.entries(SIGNALS)) process.on(signal, () => void endOnce(code))
  process.on('uncaughtException', fail)
  process.on('unhandledRejection', fail)
  return command().then((code) => endOnce(code), fail)
}

function describe(error: unknown): string {
  if (error instanceof UsageError) return `${error.message}\n--help lists all flags.`
  if (error instanceof BenchError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
