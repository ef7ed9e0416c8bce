/**
 * Answers: what the other side said. A handler answers with an error by throwing an `RpcError`; its caller catches
 * the same class. Nothing else leaves the process: see `failure.ts`.
 */
import { describe, MicroserviceError } from './microservice-error.ts'

/** What an application error consists of. */
export interface RpcErrorInit {
  /** Stable identifier the caller can branch on, such as `'ORDER_NOT_FOUND'`. Default: `'UNKNOWN'`. */
  readonly code?: string
  /** One sentence for a human. Default: the code. */
  readonly message?: string
  /** Anything the codec can carry that helps the caller. */
  readonly details?: unknown
}

/**
 * An application error: throw it in a handler and the caller receives code, message and details; a caller
 * catches the same class. It is the only kind of error whose content leaves the process.
 */
export class RpcError extends MicroserviceError {
  override name = 'RpcError'
  readonly mayHaveRun: boolean = true
  readonly retryable: boolean = false
  /** What the thrower added for the caller; `undefined` if nothing. */
  readonly details: unknown
  /**
   * The error exactly as it came over the wire; `undefined` on an error made in this process. A handler that lets
   * an error with it escape has failed itself: such an error is not passed on to the handler's caller.
   */
  readonly received: unknown

  constructor(init: RpcErrorInit | string, received?: unknown) {
    const { code = 'UNKNOWN', message = code, details } = typeof init === 'string' ? { message: init } : init
    super(code, message)
    this.details = details
    this.received = received
  }

  /** The form in which the error crosses the wire. */
  toJSON(): { status: 'error'; code: string; message: string; details?: unknown } {
    const { code, message, details } = this
    return details === undefined
      ? { status: 'error', code, message }
      : { status: 'error', code, message, details }
  }
}

/** Nobody on the other side handles the pattern. Code `PATTERN_NOT_FOUND`. */
export class PatternNotFoundError extends RpcError {
  override name = 'PatternNotFoundError'
  override readonly mayHaveRun = false

  constructor(message: string, received?: unknown) {
    super({ code: 'PATTERN_NOT_FOUND', message }, received)
  }

  /** The error of a dispatcher that has no handler for a pattern. */
  static of(pattern: string): PatternNotFoundError {
    return new PatternNotFoundError(`There is no handler of the pattern '${pattern}'`)
  }
}

/** Data or headers that break the schema of their handler. Code `VALIDATION`. */
export class ValidationError extends RpcError {
  override name = 'ValidationError'
  /** Where the value stands, such as `data.items[2]`. */
  readonly path: string
  /** What was expected there, in words. */
  readonly expected: string

  /**
   * @param message the sentence of a schema's library, where there is one; else it is made of the rest
   * @param answer the error as it came over the wire, whose details are kept
   */
  constructor(
    path: string,
    expected: string,
    received: unknown,
    message?: string,
    answer?: { readonly details: unknown }
  ) {
    const shown = describe(received)
    super(
      {
        code: 'VALIDATION',
        message: message ?? `${path}: expected ${expected}, received ${shown}`,
        details: answer?.details ?? { path, expected, received: shown }
      },
      answer
    )
    this.path = path
    this.expected = expected
  }
}

/** The other side is busy and has not started the work. Code `REJECTED`. */
export class RejectedError extends RpcError {
  override name = 'RejectedError'
  override readonly mayHaveRun = false
  override readonly retryable = true

  constructor(message: string, received?: unknown) {
    super({ code: 'REJECTED', message }, received)
  }
}

/** The other side does not accept the credentials, of a connection or of a request. Code `UNAUTHENTICATED`. */
export class UnauthenticatedError extends RpcError {
  override name = 'UnauthenticatedError'
  override readonly mayHaveRun = false

  constructor(message: string, received?: unknown) {
    super({ code: 'UNAUTHENTICATED', message }, received)
  }
}

/**
 * The error a caller gets for an answer that has a code: of the class that the other side threw. `REJECTED` is not
 * among them: a handler may mean something of its own by the word, and whoever reads it as "not started" would make
 * the call again. Transports have a sign for it that no handler can send.
 */
export function errorOf(code: string, message: string, details: unknown, answer: unknown): RpcError {
  switch (code) {
    case 'PATTERN_NOT_FOUND':
      return new PatternNotFoundError(message, answer)
    case 'UNAUTHENTICATED':
      return new UnauthenticatedError(message, answer)
    case 'VALIDATION': {
      const { path, expected, received } = Object(details) as Record<string, unknown>
      if (typeof path === 'string' && typeof expected === 'string')
        return new ValidationError(path, expected, received, message, Object(answer))
    }
  }
  return new RpcError({ code, message, details }, answer)
}
