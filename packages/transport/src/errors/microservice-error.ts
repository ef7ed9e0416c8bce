/** The base of all errors of this library. It has two branches: `RpcError` (answers) and `LocalError`. */

/** An error with a stable `code`. It says whether the work may have run, and whether a retry may succeed. */
export abstract class MicroserviceError extends Error {
  override name = 'MicroserviceError'
  /** Stable upper-case identifier of the failure, for comparisons in code. */
  readonly code: string
  /** Whether the work may have run, in whole or in part. False only if it has certainly not run. */
  abstract readonly mayHaveRun: boolean
  /**
   * Whether the same call may succeed later. If `mayHaveRun` is true as well, retry only if running the work twice does
   * no harm.
   */
  abstract readonly retryable: boolean
  /** The pattern of the call that failed, as text. Only on errors that a call gave to its caller. */
  declare readonly pattern?: string
  /**
   * The server that the call was sent to, or that could not be reached, by its name in client events: `host:port`, over
   * NATS the NATS server. Only on errors that a call gave to its caller, and only if there is such a server.
   */
  declare readonly endpoint?: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/**
 * Adds to an error of this library which call has failed. Fields that the error already has stay unchanged, and so do
 * errors of other libraries. Never throws.
 * @param call returns the fields to add; it may throw
 */
export function noteCall<Failure>(
  error: Failure,
  call: () => {
    readonly pattern?: string
    readonly endpoint?: string | undefined
    readonly mayHaveRun?: boolean
  }
): Failure {
  try {
    if (!(error instanceof MicroserviceError)) return error
    const { pattern, endpoint, mayHaveRun } = call()
    const noted: { pattern?: string; endpoint?: string; mayHaveRun: boolean } = error
    // `mayHaveRun` is set in any case, because an answer knows only about its own attempt.
    if (mayHaveRun) noted.mayHaveRun = true
    if (pattern !== undefined) noted.pattern ??= pattern
    if (endpoint !== undefined) noted.endpoint ??= endpoint
  } catch {
    // The pattern cannot be converted to text, or the error is frozen.
  }
  return error
}

/** Describes a value in a few words for error messages, never with its whole content. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value === 'string') return value.length > 64 ? `'${value.slice(0, 61)}...'` : `'${value}'`
  if (typeof value === 'object') return describeObject(value)
  if (typeof value === 'function') return 'a function'
  return String(value)
}

/** Describes an object. An object of the user may throw whenever it is read. */
function describeObject(value: object): string {
  try {
    return Array.isArray(value) ? 'an array' : `an object (${value.constructor?.name ?? 'no prototype'})`
  } catch {
    return 'an object (unreadable)'
  }
}
