/** Where the library says what it cannot tell a caller: broken peers, failing handlers, unknown events. */
export interface Logger {
  /** Something failed that somebody should look at; `cause` is the error itself, whole. */
  error(message: string, cause?: unknown): void
  /** Something is odd, and the service goes on. */
  warn(message: string, cause?: unknown): void
}

/** The default logger: the console, one line a message, the cause behind it. */
export const consoleLogger: Logger = {
  error: (message, cause) => (cause === undefined ? console.error(message) : console.error(message, cause)),
  warn: (message, cause) => (cause === undefined ? console.warn(message) : console.warn(message, cause))
}
