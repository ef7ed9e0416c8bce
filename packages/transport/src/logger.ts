/** Receives what the library cannot tell a caller: broken peers, failing handlers, unknown events. */
export interface Logger {
  /** Something failed and needs attention; `cause` is the original error. */
  error(message: string, cause?: unknown): void
  /** Something is odd, but the service goes on. */
  warn(message: string, cause?: unknown): void
}

/** The default logger: writes to the console, the cause behind the message. */
export const consoleLogger: Logger = {
  error: (message, cause) => (cause === undefined ? console.error(message) : console.error(message, cause)),
  warn: (message, cause) => (cause === undefined ? console.warn(message) : console.warn(message, cause))
}
