/**
 * Decides what a caller learns about a handler's failure. A handler sends an error to its caller by throwing an
 * `RpcError` (or Nest's `RpcException` or `HttpException`). Any other error is a bug or an outage: the caller gets only
 * an internal error.
 */
import { PatternNotFoundError, RejectedError, RpcError } from './errors/index.ts'
import { httpAnswerOf } from './http-exception.ts'

/**
 * An error with its final answer: the caller gets `value` unchanged. A dispatcher with its own rules for errors, such
 * as Nest's exception filters, throws it.
 */
export class ErrorAnswer {
  /** The answer for the caller: any value that the codec can carry. */
  readonly value: unknown

  constructor(value: unknown) {
    this.value = value
  }
}

/** Several handlers of one event have failed, each with its own error. */
export class EventHandlersError extends AggregateError {
  constructor(failures: readonly unknown[]) {
    super(failures, `${failures.length} handlers of the event failed`)
  }
}

/**
 * Whether an error says that no handler of this service has the pattern. Never throws, even if reading the error
 * throws.
 */
export function isNoHandler(error: unknown): boolean {
  try {
    return error instanceof PatternNotFoundError && error.received === undefined
  } catch {
    return false
  }
}

/**
 * Whether an error refuses the message as a whole. False for an error from another service. Never throws, even if
 * reading the error throws.
 */
export function isRejected(error: unknown): boolean {
  try {
    return error instanceof RejectedError && error.received === undefined
  } catch {
    return false
  }
}

/** Either the answer for the caller, or no answer and whether the error must be logged. */
export type Failure = { readonly answer: unknown } | { readonly answer?: never; readonly logged: boolean }

const UNEXPECTED: Failure = { logged: true }

/** Reads the value that a handler has thrown. Never throws. */
export function readFailure(error: unknown): Failure {
  if (typeof error !== 'object' || error === null) return UNEXPECTED
  try {
    return readObject(error)
  } catch {
    // A getter threw, or the error is a revoked Proxy.
    return UNEXPECTED
  }
}

function readObject(error: object): Failure {
  if (error instanceof ErrorAnswer) return { answer: error.value }
  if (error instanceof RpcError) {
    // Another service has sent this error and the handler did not catch it: that is a failure of the handler, not its
    // answer.
    return error.received === undefined ? { answer: error.toJSON() } : UNEXPECTED
  }
  if (isNestRpcException(error)) {
    const content = error.getError()
    return {
      answer:
        typeof content === 'object' && content !== null ? content : { status: 'error', message: content }
    }
  }
  const answer = httpAnswerOf(error)
  return answer === undefined ? UNEXPECTED : { answer }
}

/** `RpcException` is recognised by its method, because the class comes from the user's own copy of Nest. */
function isNestRpcException(error: object): error is { getError(): unknown } {
  return 'getError' in error && typeof error.getError === 'function'
}
