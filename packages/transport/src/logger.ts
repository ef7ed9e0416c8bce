import { OptionError } from './errors/index.ts'
import { isThenable, whenSettled } from './stream.ts'

/** Receives what the library cannot tell a caller: broken peers, failing handlers, unknown events. */
export interface Logger {
  /** Something failed and needs attention; `cause` is the original error. */
  error(message: string, cause?: unknown): void
  /** Something is odd, but the service goes on. */
  warn(message: string, cause?: unknown): void
  /**
   * One line for each message that a service has handled. Left out, no such line is made; nor if the logger has
   * `isLevelEnabled`, as pino has, and that says no to `'debug'` when the service is made.
   */
  debug?(message: string): void
}

function ignore(): void {}

/** Writes the line without its cause, which may be what could not be written. */
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

/**
 * The given logger as this library calls it. pino gets a cause in front of the text, where it does not drop it. The
 * result never throws and never rejects, whatever the given logger does, because no call may fail for a line that cannot
 * be written; if writing throws, the console gets the line.
 */
export function loggerOf(given: Logger): Logger {
  const pino = isPino(given) ? (given as Logger & ObjectFirst) : undefined
  const guarded = (level: 'error' | 'warn' | 'debug') => (message: string, cause?: unknown) => {
    try {
      let written: unknown
      if (cause === undefined || level === 'debug') written = given[level]?.(message)
      else written = pino === undefined ? given[level](message, cause) : pino[level]({ err: cause }, message)
      if (typeof written === 'object' && written !== null && isThenable(written))
        void whenSettled(written, ignore, ignore)
    } catch {
      sayOnConsole(message)
    }
  }
  const logger = { error: guarded('error'), warn: guarded('warn') }
  return isDebugging(given) ? { ...logger, debug: guarded('debug') } : logger
}

function isDebugging(given: Logger): boolean {
  const { debug, isLevelEnabled } = given as Logger & { isLevelEnabled?(level: string): boolean }
  if (typeof debug !== 'function') return false
  return typeof isLevelEnabled !== 'function' || isLevelEnabled.call(given, 'debug')
}

/** Known by its methods, because pino is no dependency. */
function isPino(given: object): boolean {
  return ['bindings', 'setBindings', 'child'].every((name) => typeof Reflect.get(given, name) === 'function')
}
