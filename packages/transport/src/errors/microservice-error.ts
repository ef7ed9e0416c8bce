/** The base of all errors of this library. It has two branches: `RpcError` (answers) and `LocalError`. */

/** An error with a stable `code`. It says whether the work may have run, and whether a retry can help. */
export abstract class MicroserviceError extends Error {
  override name = 'MicroserviceError'
  /** Stable upper-case identifier of the failure, made to be compared against. */
  readonly code: string
  /** Whether the work may have run, in whole or in part. False only if it certainly has not. */
  abstract readonly mayHaveRun: boolean
  /**
   * Whether the same call may succeed later. If `mayHaveRun` is true too, make it again only if running the work twice
   * does no harm.
   */
  abstract readonly retryable: boolean

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Describes a value in a few words for error messages, never with its whole content. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value === 'string') return value.length > 64 ? `'${value.slice(0, 61)}...'` : `'${value}'`
  if (typeof value === 'object') return describeObject(value)
  if (typeof value === 'function') return 'a function'
  return String(value)
}

/** Users' objects may throw at every look. */
function describeObject(value: object): string {
  try {
    return Array.isArray(value) ? 'an array' : `an object (${value.constructor?.name ?? 'no prototype'})`
  } catch {
    return 'an object (unreadable)'
  }
}
