import { OptionError } from './errors/index.ts'
import { isThenable, whenSettled } from './stream.ts'

/** Receives what the library cannot tell a caller: broken peers, failing handlers, unknown events. */
export interface Logger {
  /** Something failed and needs attention; `cause` is the original error. */
  error(message: string, cause?: unknown): void
  /** Something is odd, but the service goes on. */
  warn(message: string, cause?: unknown): void
}

/**
 * A logger that never throws and never rejects, whatever the given one does: no call may fail because a line cannot be
 * written. If writing throws, the console gets the line.
 */
export function guardedLogger(logger: Logger): Logger {
  const guarded = (level: 'error' | 'warn') => (message: string, cause?: unknown) => {
    try {
      const written: unknown = cause === undefined ? logger[level](message) : logger[level](message, cause)
      if (typeof written === 'object' && written !== null && isThenable(written))
        void whenSettled(written, ignore, ignore)
    } catch {
      sayOnConsole(message)
    }
  }
  return { error: guarded('error'), warn: guarded('warn') }
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
