import { OptionError } from './errors/index.ts'

/** Receives what the library cannot tell a caller: broken peers, failing handlers, unknown events. */
export interface Logger {
  /** Something failed and needs attention; `cause` is the original error. */
  error(message: string, cause?: unknown): void
  /** Something is odd, but the service goes on. */
  warn(message: string, cause?: unknown): void
}

/** @throws {OptionError} the value is not a logger */
export function checkLogger(path: string, value: unknown): void {
  const { error, warn } = Object(value) as Partial<Logger>
  if (typeof error === 'function' && typeof warn === 'function') return
  throw OptionError.expected(path, 'an object with the functions error and warn', value)
}

/** The default logger: writes to the console, the cause behind the message. */
export const consoleLogger: Logger = {
  error: (message, cause) => (cause === undefined ? console.error(message) : console.error(message, cause)),
  warn: (message, cause) => (cause === undefined ? console.warn(message) : console.warn(message, cause))
}
