/**
 * Answers: errors that the other side has sent. A handler throws an `RpcError`, and its caller catches the same class.
 * The content of other errors stays in the process: see `failure.ts`.
 */
import { describe, MicroserviceError } from './microservice-error.ts'

/** The fields of an application error. */
export interface RpcErrorInit {
  /** Stable identifier that callers compare against, such as `'ORDER_NOT_FOUND'`. Default: `'UNKNOWN'`. */
  readonly code?: string
  /** One sentence for people. Default: the code. */
  readonly message?: string
  /** Any further value that helps the caller and that the codec can carry. */
  readonly details?: unknown
  /** A number for the error, such as an HTTP status, with which a gateway answers. Default: none. */
  readonly status?: number | undefined
}

/**
 * An application error: throw it in a handler, and the caller catches the same class with the same code, message and
 * details. Of all errors, only the content of an `RpcError` leaves the process.
 * @example
 * ```ts
 * import { RpcError } from 'elysia-microservices'
 *
 * function find(id: number): never {
 * throw new RpcError({ code: 'USER_NOT_FOUND', message: `There is no user ${id}`, details: { id } })
 * }
 * ```
 */
export class RpcError extends MicroserviceError {
  override name = 'RpcError'
  readonly mayHaveRun: boolean = true
  /** Of answers, only `TIMEOUT` (the handler took too long) and those of `RejectedError` may differ the next time. */
  readonly retryable: boolean
  /** The details for the caller; `undefined` if there are none. */
  readonly details: unknown
  /**
   * The number of the error; `undefined` if it has none. The number of a received error is the first number among its
   * fields `statusCode`, `status` and `code`, as in Nest's `RpcException({ code: 404, message })`.
   */
  readonly status: number | undefined
  /**
   * The error exactly as it was received; `undefined` for an error made in this process. A received error that a
   * handler does not catch is not passed on, because it counts as an internal failure of the handler: see {@link pass}.
   */
  readonly received: unknown

  constructor(init: RpcErrorInit | string, received?: unknown) {
    const given: RpcErrorInit = typeof init === 'string' ? { message: init } : init
    const { code = 'UNKNOWN', message = code, details, status } = given
    super(code, message)
    this.retryable = code === 'TIMEOUT'
    this.details = details
    this.status = typeof status === 'number' ? status : numberOf(received)
    this.received = received
  }

  /**
   * Makes an error to pass on to this handler's caller the error of another service: `throw error.pass()`. The new
   * error has the same code, message, details and status. If the other service has refused the call as a whole, the
   * code is the name of the HTTP status (`NOT_IMPLEMENTED`, `SERVICE_UNAVAILABLE`, `UNAUTHORIZED`), because this
   * service has not refused its own caller.
   */
  pass(): RpcError {
    return passedOn(this, this.code)
  }

  /** The form in which the error is sent. */
  toJSON(): { status: 'error'; code: string; message: string; statusCode?: number; details?: unknown } {
    const { code, message, details, status } = this
    return {
      status: 'error',
      code,
      message,
      ...(status !== undefined && { statusCode: status }),
      ...(details !== undefined && { details })
    }
  }
}

function passedOn({ message, details, status }: RpcError, code: string): RpcError {
  return new RpcError({ code, message, details, status })
}

/** Finds the number of a received error. */
function numberOf(received: unknown): number | undefined {
  if (typeof received !== 'object' || received === null) return undefined
  const { statusCode, status, code } = received as Readonly<Record<string, unknown>>
  return [statusCode, status, code].find((one) => typeof one === 'number')
}

/** The status of a call for which nobody listens: HTTP's number of a service that is unavailable. */
const NOBODY = 503

/**
 * The other side has no handler for the pattern. Code `PATTERN_NOT_FOUND`. Over an engine the service may also be down:
 * then `status` is 503.
 */
export class PatternNotFoundError extends RpcError {
  override name = 'PatternNotFoundError'
  override readonly mayHaveRun: boolean = false

  constructor(message: string, received?: unknown, status?: number) {
    super({ code: 'PATTERN_NOT_FOUND', message, status }, received)
  }

  override pass(): RpcError {
    return passedOn(this, this.status === NOBODY ? 'SERVICE_UNAVAILABLE' : 'NOT_IMPLEMENTED')
  }

  /** Makes the error that a dispatcher throws if no handler has the pattern. */
  static of(pattern: string): PatternNotFoundError {
    return new PatternNotFoundError(`There is no handler for the pattern '${pattern}'`)
  }

  /**
   * Makes the error of a call over an engine for which nobody listens: the service is down, or has no such handler,
   * and the engine does not say which. Its `status` is 503, as for a service that cannot be reached.
   */
  static nobody(pattern: string): PatternNotFoundError {
    return new PatternNotFoundError(PatternNotFoundError.of(pattern).message, pattern, NOBODY)
  }
}

/** One value that fails a schema. */
export interface ValidationIssue {
  /** Path of the wrong value, such as `data.items[2]`. */
  readonly path: string
  /** The expected value, as text. */
  readonly expected: string
  /** The value that was found, as text. */
  readonly received: string
}

/** Data or headers that fail the schema of their handler. Code `VALIDATION`. */
export class ValidationError extends RpcError {
  override name = 'ValidationError'
  /** Path of the first wrong value, such as `data.items[2]`. */
  readonly path: string
  /** The expected value, as text. */
  readonly expected: string
  /** All wrong values, in order; at most the first 32. On the wire they are `details.issues`. */
  readonly issues: readonly ValidationIssue[]

  /**
   * @param message the schema library's own sentence; default: made from the other arguments
   * @param answer the error exactly as it was received; its details are kept
   * @param issues all wrong values; default: only the value at `path`
   */
  constructor(
    path: string,
    expected: string,
    received: unknown,
    message?: string,
    answer?: { readonly details: unknown },
    issues?: readonly ValidationIssue[]
  ) {
    const shown = describe(received)
    const first = { path, expected, received: shown }
    super(
      {
        code: 'VALIDATION',
        message: message ?? `${path}: expected ${expected}, received ${shown}`,
        details: answer?.details ?? (issues === undefined || issues.length < 2 ? first : { ...first, issues })
      },
      answer
    )
    this.path = path
    this.expected = expected
    this.issues = issues?.length ? issues : [first]
  }
}

/** The other side is busy and has not started the work. Code `REJECTED`. */
export class RejectedError extends RpcError {
  override name = 'RejectedError'
  override readonly mayHaveRun: boolean = false
  override readonly retryable = true

  constructor(message: string, received?: unknown) {
    super({ code: 'REJECTED', message }, received)
  }

  override pass(): RpcError {
    return passedOn(this, 'SERVICE_UNAVAILABLE')
  }
}

/** The other side does not accept the credentials of a connection or of a request. Code `UNAUTHENTICATED`. */
export class UnauthenticatedError extends RpcError {
  override name = 'UnauthenticatedError'
  override readonly mayHaveRun: boolean = false

  constructor(message: string, received?: unknown) {
    super({ code: 'UNAUTHENTICATED', message }, received)
  }

  override pass(): RpcError {
    return passedOn(this, 'UNAUTHORIZED')
  }
}

/**
 * Makes the error for an answer that has a code, in the class that the other side has thrown. It never makes a
 * `RejectedError`: a handler may use the code `REJECTED` in a different meaning, and a client that reads the code as
 * "not started" would retry the call. Transports mark rejections in a way that no handler can send.
 */
export function errorOf(code: string, message: string, details: unknown, answer: unknown): RpcError {
  switch (code) {
    case 'PATTERN_NOT_FOUND':
      return new PatternNotFoundError(message, answer)
    case 'UNAUTHENTICATED':
      return new UnauthenticatedError(message, answer)
    case 'VALIDATION': {
      const { path, expected, received, issues } = Object(details) as Record<string, unknown>
      if (typeof path !== 'string' || typeof expected !== 'string') break
      const all = Array.isArray(issues)
        ? issues.flatMap(issueOf)
        : typeof received === 'string'
          ? [{ path, expected, received }]
          : []
      return new ValidationError(path, expected, received, message, Object(answer), all)
    }
  }
  return new RpcError({ code, message, details }, answer)
}

/** Reads a received issue. Returns a list with the issue; an empty list if the value is no issue. */
function issueOf(given: unknown): readonly ValidationIssue[] {
  const { path, expected, received } = Object(given) as Record<string, unknown>
  if (typeof path !== 'string' || typeof expected !== 'string') return []
  return [{ path, expected, received: typeof received === 'string' ? received : describe(received) }]
}
