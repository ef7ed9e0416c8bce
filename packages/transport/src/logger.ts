import { isThenable, whenSettled } from './stream.ts'

/** Where the library says what it cannot tell a caller: broken peers, failing handlers, unknown events. */
export interface Logger {
  /** Something failed that somebody should look at; `cause` is the error itself, whole. */
  error(message: string, cause?: unknown): void
  /** Something is odd, and the service goes on. */
  warn(message: string, cause?: unknown): void
}

/** A logger that never throws and never rejects, whatever the given one does: no call may fail because a line cannot be written. */
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

/** The line alone: its cause may be what could not be written. */
function sayOnConsole(message: string): void {
  try {
    console.error(message)
  } catch {}
}

/** The default logger: the console, one line a message, the cause behind it. */
export const consoleLogger: Logger = {
  error: (message, cause) => (cause === undefined ? console.error(message) : console.error(message, cause)),
  warn: (message, cause) => (cause === undefined ? console.warn(message) : console.warn(message, cause))
}
