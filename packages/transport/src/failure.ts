/**
 * What a caller may learn of a handler's failure. Handlers say it by throwing an `RpcError` (or Nest's
 * `RpcException`); anything else is a bug or an outage, and leaves the process as an internal error only.
 */
import { PatternNotFoundError, RpcError } from './errors/index.ts'

/**
 * An error whose answer is settled: the caller gets `value` as it is. A dispatcher throws it that has rules of
 * its own for errors, such as the exception filters of Nest.
 */
export class ErrorAnswer {
  /** What the caller gets: anything the protocol can carry. */
  readonly value: unknown

  constructor(value: unknown) {
    this.value = value
  }
}

/** Several handlers of one event have failed, each with an error of its own. */
export class EventHandlersError extends AggregateError {
  constructor(failures: readonly unknown[]) {
    super(failures, `${failures.length} handlers of the event failed`)
  }
}

/** Whether an error says that nobody here handles the pattern. What is thrown may be anything: asking never throws. */
export function isNoHandler(error: unknown): boolean {
  try {
    return error instanceof PatternNotFoundError && error.received === undefined
  } catch {
    return false
  }
}

/** What a failure means: the value for the caller, or nothing to tell and whether to log it. */
export type Failure = { readonly answer: unknown } | { readonly answer?: never; readonly logged: boolean }

const UNEXPECTED: Failure = { logged: true }

/** Reads an error that a handler threw, whatever it is: reading it never throws. */
export function readFailure(error: unknown): Failure {
  if (typeof error !== 'object' || error === null) return UNEXPECTED
  try {
    return readObject(error)
  } catch {
    // A getter of it threw, or it is a Proxy that was revoked.
    return UNEXPECTED
  }
}

function readObject(error: object): Failure {
  if (error instanceof ErrorAnswer) return { answer: error.value }
  if (error instanceof RpcError) {
    // Received from a further service and not caught: the failure of this handler, not its answer.
    return error.received === undefined ? { answer: error.toJSON() } : UNEXPECTED
  }
  if (isNestRpcException(error)) {
    const content = error.getError()
    return {
      answer:
        typeof content === 'object' && content !== null ? content : { status: 'error', message: content }
    }
  }
  return { logged: !isNestHttpException(error) }
}

/** Known by its method, because the class is the user's own copy of Nest. */
function isNestRpcException(error: object): error is { getError(): unknown } {
  return 'getError' in error && typeof error.getError === 'function'
}

/** Nest logs no HttpException: it is how pipes and guards say no. */
function isNestHttpException(error: object): boolean {
  return 'getStatus' in error && typeof error.getStatus === 'function' && 'getResponse' in error
}
