/** Makes the failure that a caller gets of the error that a handler has thrown. */
import {
  errorToText,
  type IncomingMessage,
  isRejected,
  type Logger,
  OptionError,
  PayloadTooLargeError,
  readErrorText
} from '@elysia-microservices/transport/kit'
import { grpcFailureOf } from '../nest/failure.ts'
import type { JsonValue } from '../proto.ts'
import { CODES, codeOfError, codeOfNumber, nameOfStatus, type RpcCode } from './codes.ts'
import { errorInfo, valueDetail } from './details.ts'
import { CallFailure } from './failure.ts'

/** The surroundings of a failed call. */
export interface FailedCall {
  readonly logger: Logger
  /** The message whose handler has failed, or a text that says what has. Default: no message was made. */
  readonly message?: IncomingMessage | string | undefined
  /** The codes of calls for codes of the application. */
  readonly errors?: Readonly<Record<string, RpcCode>> | undefined
}

/** Of our services these codes say that no handler has run. */
const REJECTED = 'REJECTED'
const UNAUTHENTICATED = 'UNAUTHENTICATED'

/** Whether a thrown value is a failure of a call. A revoked Proxy throws when it is asked. */
function isFailure(error: unknown): error is CallFailure {
  try {
    return error instanceof CallFailure
  } catch {
    return false
  }
}

/**
 * The failure for the caller. Only the content of errors that are meant for callers is in it; any other error is logged
 * and becomes `internal`. Never throws.
 */
export function failureOf(error: unknown, { logger, message, errors }: FailedCall): CallFailure {
  if (isFailure(error)) return error
  const nest = grpcFailureOf(error)
  if (nest !== undefined) return new CallFailure(codeOfNumber(nest.status) ?? 'unknown', nest.message)
  const { code, message: said, details, received } = readErrorText(errorToText(error, logger, message))
  const { code: number, statusCode: status } = Object(received) as { code?: unknown; statusCode?: unknown }
  // A handler may use this code, too, but only the service itself can say that the call was not begun.
  const mayBeRejected = code === REJECTED
  const found = isRejected(error)
    ? 'unavailable'
    : mayBeRejected
      ? 'unknown'
      : codeOfError({ code, number, status }, errors)
  const detail = details === undefined ? undefined : valueDetail(details as JsonValue)
  // The name of the code says the same as the code. Other libraries let handlers send UNAUTHENTICATED.
  const isSaid =
    code === nameOfStatus(CODES[found].number) && code !== UNAUTHENTICATED && detail === undefined
  return new CallFailure(found, said, [
    ...(code === undefined || isSaid ? [] : [errorInfo(code)]),
    ...(detail === undefined ? [] : [detail])
  ])
}

/** The error of a result that cannot be sent, which says what of it does not fit. Never throws. */
export function unsendableResult(cause: unknown): Error {
  let why = ''
  try {
    if (cause instanceof PayloadTooLargeError) return new CallFailure('resource_exhausted', cause.message)
    if (cause instanceof OptionError) why = `: ${cause.message}`
  } catch {}
  return new Error(`The result of a handler, or its headers, cannot be sent${why}`, { cause })
}
