/** The base of all errors of this library. It has two branches: `RpcError` (answers) and `LocalError`. */

/** An error with a stable `code`, and with an answer to the two questions a caller has. */
export abstract class MicroserviceError extends Error {
  override name = 'MicroserviceError'
  /** Stable, upper-case identifier of what went wrong; safe to compare against. */
  readonly code: string
  /** Whether the work that was asked for may have run, in whole or in part. False only where that is certain. */
  abstract readonly mayHaveRun: boolean
  /**
   * Whether the same call may succeed if it is made again later. Where `mayHaveRun` is true as well, make it again
   * only if running the work twice does no harm.
   */
  abstract readonly retryable: boolean

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** A value in a few words, for error messages: never its whole content. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value === 'string') return value.length > 64 ? `'${value.slice(0, 61)}...'` : `'${value}'`
  if (typeof value === 'object') return Array.isArray(value) ? 'an array' : `an object (${classOf(value)})`
  if (typeof value === 'function') return 'a function'
  return String(value)
}

function classOf(value: object): string {
  try {
    return value.constructor?.name ?? 'no prototype'
  } catch {
    return 'unreadable'
  }
}
