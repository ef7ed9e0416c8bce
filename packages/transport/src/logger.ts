import { OptionError } from './errors/index.ts'

/** Where the library says what it cannot tell a caller: broken peers, failing handlers, unknown events. */
export interface Logger {
  /** Something failed that somebody should look at; `cause` is the error itself, whole. */
  error(message: string, cause?: unknown): void
  /** Something is odd, and the service goes on. */
  warn(message: string, cause?: unknown): void
}

/** @throws {OptionError} it is no logger */
export function checkLogger(path: string, value: unknown): void {
  const { error, warn } = Object(value) as Partial<Logger>
  if (typeof error === 'function' && typeof warn === 'function') return
  throw OptionError.expected(path, 'an object with the functions error and warn', value)
}

/** The default logger: the console, one line a message, the cause behind it. */
export const consoleLogger: Logger = {
  error: (message, cause) => (cause === undefined ? console.error(message) : console.error(message, cause)),
  warn: (message, cause) => (cause === undefined ? console.warn(message) : console.warn(message, cause))
}
