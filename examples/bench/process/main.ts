/** How a command of the bench ends: its output complete, its servers gone, its exit code right. */
import { BenchError, UsageError } from '../errors.ts'
import { deferred } from './deferred.ts'

const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const

/** Writes all of `text` to stdout, also to a pipe that is read slowly. */
export async function print(text: string): Promise<void> {
  const written = deferred()
  process.stdout.write(text, () => written.resolve())
  await written.promise
}

/** A command as it can be typed again. */
export const commandLine = (command: string, args: readonly string[]): string =>
  [
    command,
    ...args.map((arg) => (/^[\w=.,:/@%+-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`))
  ].join(' ')

/**
 * Runs a command and ends the process with the code it returns, or 2 for a `UsageError`, 1 for any other error,
 * told on stderr. Whatever ends it, a signal included, `cleanUp` has been awaited before.
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
      // It must end all the same.
      console.error(describe(error))
      process.exit(code === 0 ? 1 : code)
    }
    process.exit(code)
  }
  /** Only the first reason counts: stopping makes others of its own. */
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
