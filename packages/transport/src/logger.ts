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

/** What pino has and other loggers do not have, and how it takes errors. */
interface Pino {
  bindings(): unknown
  error(fields: { readonly err: unknown }, message: string): void
  warn(fields: { readonly err: unknown }, message: string): void
}

/**
 * The logger as this library calls it. pino drops what stands behind a text, so it is given the cause as its field
 * `err`; any other logger is taken as it is.
 */
export function loggerOf(given: Logger): Logger {
  const pino = given as Logger & Partial<Pino>
  if (typeof pino.bindings !== 'function') return given
  const { error, warn } = given as unknown as Pino
  return {
    error: (message, cause) =>
      cause === undefined ? given.error(message) : error.call(given, { err: cause }, message),
    warn: (message, cause) =>
      cause === undefined ? given.warn(message) : warn.call(given, { err: cause }, message)
  }
}
