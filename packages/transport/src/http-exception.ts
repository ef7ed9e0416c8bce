/**
 * Reads Nest's `HttpException`, with which pipes, guards and controllers refuse a request. It is recognised by its
 * methods, because the class comes from the user's own copy of Nest.
 */
import { HTTP_CODES, isErrorStatus } from './http-codes.ts'

/** The answer that callers get for an exception. */
export interface HttpAnswer {
  readonly status: 'error'
  /** The name of the HTTP status, such as `BAD_REQUEST`; `HTTP_418` for a status without a name. */
  readonly code: string
  readonly message: string
  /** The status itself. */
  readonly statusCode: number
  /**
   * Further details of the exception; `{ messages }` if it has several messages, as the exception of a validating pipe
   * has.
   */
  readonly details?: unknown
}

interface HttpException {
  getStatus(): unknown
  getResponse(): unknown
}

/**
 * The answer for an exception; `undefined` if the value is no such exception, or the exception says only that something
 * has failed.
 */
export function httpAnswerOf(error: object): HttpAnswer | undefined {
  if (!isHttpException(error)) return undefined
  const statusCode = error.getStatus()
  if (!isErrorStatus(statusCode) || statusCode === 500) return undefined
  const head = { status: 'error', code: HTTP_CODES.get(statusCode) ?? `HTTP_${statusCode}` } as const
  const response = error.getResponse()
  const ownMessage = String((error as { message?: unknown }).message ?? head.code)
  if (typeof response !== 'object' || response === null)
    return { ...head, message: typeof response === 'string' ? response : ownMessage, statusCode }
  // `error` is the name of the status.
  const { message, error: _words, statusCode: _status, ...rest } = response as Record<string, unknown>
  const messages = Array.isArray(message) ? message.map(String) : undefined
  const text = typeof message === 'string' ? message : (messages?.join('; ') ?? ownMessage)
  const details = messages === undefined ? rest : { ...rest, messages }
  if (Object.keys(details).length === 0) return { ...head, message: text, statusCode }
  return { ...head, message: text, statusCode, details }
}

function isHttpException(error: object): error is HttpException {
  return (
    'getStatus' in error &&
    typeof error.getStatus === 'function' &&
    'getResponse' in error &&
    typeof error.getResponse === 'function'
  )
}
