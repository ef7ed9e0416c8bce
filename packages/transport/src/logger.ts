import { OptionError } from './errors/index.ts'
import { isThenable, whenSettled } from './stream.ts'

/** Receives messages that cannot be told to a caller: broken peers, failing handlers, unknown events. */
export interface Logger {
  /** Logs a failure that needs attention; `cause` is the original error. */
  error(message: string, cause?: unknown): void
  /** Logs something unusual that does not stop the service. */
  warn(message: string, cause?: unknown): void
  /**
   * Logs one line for each message that a service has handled. Without this method no such line is made. The same
   * applies if the logger has `isLevelEnabled`, as pino has, and `isLevelEnabled('debug')` is false when the service is
   * made.
   */
  debug?(message: string): void
}

function ignore(): void {}

/** Writes the line without its cause, because the cause may be the reason for which the logger failed. */
function sayOnConsole(message: string): void {
  try {
    console.error(message)
  } catch {}
}

/** @throws {OptionError} the value is not a logger */
export function checkLogger(path: string, value: unknown): void {
  const { error, warn } = Object(value) as Partial<Logger>
  if (typeof error === 'function' && typeof warn === 'function') return
  throw OptionError.expected(path, 'an object with the functions error and warn', value)
}

/** The default logger: writes the message and then the cause to the console. */
export const consoleLogger: Logger = {
  error: (message, cause) => (cause === undefined ? console.error(message) : console.error(message, cause)),
  warn: (message, cause) => (cause === undefined ? console.warn(message) : console.warn(message, cause))
}

/** A logger whose methods take the fields of a line before its text, as pino does. */
interface ObjectFirst {
  error(fields: object, message: string): void
  warn(fields: object, message: string): void
}

/**
 * Wraps the given logger for this library. pino takes the cause before the text, because it would ignore a cause behind
 * the text. The wrapped logger never throws and never rejects, because no call may fail if a line cannot be written. If
 * the given logger throws, the console gets the line.
 * @throws {OptionError} the value is not a logger
 */
export function loggerOf(given: Logger): Logger {
  checkLogger('options.logger', given)
  const pino = isPino(given) ? (given as Logger & ObjectFirst) : undefined
  const guarded = (level: 'error' | 'warn') => (message: string, cause?: unknown) =>
    written(message, () => {
      if (cause === undefined) return given[level](message)
      return pino === undefined ? given[level](message, cause) : pino[level]({ err: cause }, message)
    })
  return { error: guarded('error'), warn: guarded('warn') }
}

/** As `loggerOf`, for a service: with the method `debug` if the given logger wants such lines. */
export function serviceLoggerOf(given: Logger): Logger {
  const logger = loggerOf(given)
  if (!isDebugging(given)) return logger
  return { ...logger, debug: (message) => written(message, () => given.debug?.(message)) }
}

function written(message: string, write: () => unknown): void {
  try {
    const result = write()
    if (typeof result === 'object' && result !== null && isThenable(result))
      void whenSettled(result, ignore, ignore)
  } catch {
    sayOnConsole(message)
  }
}

function isDebugging(given: Logger): boolean {
  const { debug, isLevelEnabled } = given as Logger & { isLevelEnabled?(level: string): boolean }
  if (typeof debug !== 'function') return false
  return typeof isLevelEnabled !== 'function' || isLevelEnabled.call(given, 'debug')
}

/** pino is recognised by its methods, because it is no dependency. */
function isPino(given: object): boolean {
  return ['bindings', 'setBindings', 'child'].every((name) => typeof Reflect.get(given, name) === 'function')
}
