/**
 * Nest's `HttpException`: what pipes, guards and controllers say no with. It is known by its methods, because the
 * class is the user's own copy of Nest.
 */
import { HTTP_CODES, isErrorStatus } from './http-codes.ts'

/** The answer that callers get in place of an exception. */
export interface HttpAnswer {
  readonly status: 'error'
  /** The name of the status, such as `BAD_REQUEST`, or `HTTP_418` where it has none. */
  readonly code: string
  readonly message: string
  /** The status itself. */
  readonly statusCode: number
  /** Further details of the exception: `{ messages }` where it has several messages, as a validating pipe's. */
  readonly details?: unknown
}

interface HttpException {
  getStatus(): unknown
  getResponse(): unknown
}

/** Its answer; `undefined` for what is no such exception, or one that says no more than that something has failed. */
export function httpAnswerOf(error: object): HttpAnswer | undefined {
  if (!isHttpException(error)) return undefined
  const statusCode = error.getStatus()
  if (!isErrorStatus(statusCode) || statusCode === 500) return undefined
  const head = { status: 'error', code: HTTP_CODES.get(statusCode) ?? `HTTP_${statusCode}` } as const
  const response = error.getResponse()
  const ownMessage = String((error as { message?: unknown }).message ?? head.code)
  if (typeof response !== 'object' || response === null)
    return { ...head, message: typeof response === 'string' ? response : ownMessage, statusCode }
  // `error` is the status in words.
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
