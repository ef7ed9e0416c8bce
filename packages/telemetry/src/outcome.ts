/**
 * Converts the end of a message to the terms of the semantic conventions: a code, and whether it counts as an
 * error.
 */
import { type MicroserviceError, type ResultEnd, readFailure } from '@elysia-microservices/transport/kit'
import { NO_MESSAGE_HANDLER } from '@elysia-microservices/transport/nest'
import type { Side } from './figures/figures.ts'

/** The outcome of a message. */
export interface Outcome {
  /** `'OK'`, the code of the error, `'CANCELED'` or `'TIMEOUT'`: the attribute `rpc.status_code`. */
  readonly code: string
  /** The kind of the error: the attribute `error.type`; `undefined` if there was none. */
  readonly errorType?: string
  /** The message of the error; `undefined` if there is none. */
  readonly message?: string
  /** An error that nobody threw on purpose: a bug or an outage, whose stack should be recorded. */
  readonly exception?: Error
  /** Whether the pattern has no handler. */
  readonly isUnknown?: boolean
}

/** The outcome of a message that has succeeded. */
export const OK: Outcome = { code: 'OK' }
const CANCELED: Outcome = { code: 'CANCELED' }
const DEADLINE: Outcome = { code: 'TIMEOUT', errorType: 'TIMEOUT', message: "The caller's time is over" }
const UNKNOWN_PATTERN = 'PATTERN_NOT_FOUND'

/** The fields of a message that `serverOutcome` reads. */
interface Waiting {
  readonly isAborted?: boolean
  readonly remaining?: number | undefined
}

/**
 * The outcome of a handler. An error that is thrown on purpose (an `RpcError`, or Nest's `RpcException`) is an
 * answer with a code. It does not count as an error of the service, just as a 404 does not count as an error of an
 * HTTP server.
 */
export function serverOutcome(end: ResultEnd, message: Waiting): Outcome {
  // The caller has left before the end, so the handler's result reached nobody and does not count.
  if (end.outcome === 'canceled' || message.isAborted) return message.remaining === 0 ? DEADLINE : CANCELED
  if (end.outcome === 'completed') return OK
  const failure = readFailure(end.error)
  if (!('answer' in failure)) {
    const exception = end.error instanceof Error ? end.error : new Error(String(end.error))
    return { code: 'INTERNAL', errorType: nameOf(exception), message: exception.message, exception }
  }
  const code = codeOf(failure.answer)
  return code === UNKNOWN_PATTERN ? { code, errorType: code, isUnknown: true } : { code }
}

/**
 * The outcome of a call. A canceled call is not a failure. Every error is one, including errors that the handler
 * has thrown on purpose.
 */
export function clientOutcome(end: ResultEnd): Outcome {
  if (end.outcome === 'completed') return OK
  if (end.outcome === 'canceled') return CANCELED
  const { code, message = end.error } = Object(end.error) as Partial<MicroserviceError>
  if (code === 'CANCELED') return { ...CANCELED, message: String(message) }
  // Nest reports an unknown pattern with these words and without a code.
  const isUnknown = code === UNKNOWN_PATTERN || message === NO_MESSAGE_HANDLER
  const known = isUnknown ? UNKNOWN_PATTERN : typeof code === 'string' && code !== '' ? code : 'UNKNOWN'
  return { code: known, errorType: known, message: String(message), isUnknown }
}

function codeOf(answer: unknown): string {
  const { code } = Object(answer) as { code?: unknown }
  return typeof code === 'string' && code !== '' ? code : 'UNKNOWN'
}

function nameOf(error: Error): string {
  return error.name === 'Error' ? error.constructor.name : error.name
}

/**
 * Whether a code is an error for the side that counts it. An error that a handler throws on purpose is not an error
 * of the service.
 */
export function isError(side: Side, code: string): boolean {
  if (code === OK.code || code === CANCELED.code) return false
  return side !== 'server' || ['INTERNAL', 'TIMEOUT', UNKNOWN_PATTERN].includes(code)
}
