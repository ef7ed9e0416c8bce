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

/** A logger that takes what belongs to a line before its text, as pino does. */
interface ObjectFirst {
  error(fields: object, message: string): void
  warn(fields: object, message: string): void
}

/** The logger that was given, in the form that this library calls: pino would drop an error that stands behind the text. */
export function loggerOf(given: Logger): Logger {
  if (!isPino(given)) return given
  const pino = given as Logger & ObjectFirst
  const line = (level: 'error' | 'warn') => (message: string, cause?: unknown) =>
    cause === undefined ? pino[level](message) : pino[level]({ err: cause }, message)
  return { error: line('error'), warn: line('warn') }
}

/** Known by its methods, because pino is no dependency. */
function isPino(given: object): boolean {
  return ['bindings', 'setBindings', 'child'].every((name) => typeof Reflect.get(given, name) === 'function')
}
