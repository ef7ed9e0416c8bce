/** Makes the failure that a caller gets of the error that a handler has thrown. */
import type { JsonValue } from '@elysia-microservices/protobuf'
import {
  errorToText,
  type IncomingMessage,
  type Logger,
  ProtocolError,
  readErrorText
} from '@elysia-microservices/transport/kit'
import { CallFailure, type FailureDetail } from '../protocol/call-failure.ts'
import type { ConnectCode } from '../protocol/codes.ts'
import { errorInfo, valueDetail } from '../protocol/details.ts'
import { connectCodeOf } from './code-of.ts'

/** The surroundings of a failed call. */
export interface FailedCall {
  /** The service of the method, such as `shop.v1.Orders`. */
  readonly domain: string
  readonly logger: Logger
  /** The message whose handler has failed. Default: none was made. */
  readonly message?: IncomingMessage | undefined
  /** Connect's codes for codes of the application. */
  readonly errors?: Readonly<Record<string, ConnectCode>> | undefined
}

/**
 * The failure for the caller. Only the content of errors that are meant for callers is in it; any other error is logged
 * and becomes `internal`. Never throws.
 */
export function failureOf(error: unknown, { domain, logger, message, errors }: FailedCall): CallFailure {
  if (error instanceof CallFailure) return error
  const { code, message: said, details, received } = readErrorText(errorToText(error, logger, message))
  if (code === 'INTERNAL') return new CallFailure('internal', said)
  const { code: number, statusCode: status } = Object(received) as { code?: unknown; statusCode?: unknown }
  return new CallFailure(connectCodeOf({ code, number, status }, errors), said, [
    ...(code === undefined ? [] : [errorInfo(code, domain)]),
    ...(details === undefined ? [] : detailOf(details as JsonValue))
  ])
}

function detailOf(details: JsonValue): readonly FailureDetail[] {
  try {
    return [valueDetail(details)]
  } catch {
    // The details are nested too deeply; without them the failure is still told.
    return []
  }
}

/** Runs a codec on what a caller has sent. @throws {CallFailure} `invalid_argument`: it is not such a message */
export function reading<Value>(typeName: string, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    if (error instanceof ProtocolError) throw new CallFailure('invalid_argument', error.message)
    // Any other error, such as that of a stack that is too deep, says nothing to a caller.
    const why = error instanceof SyntaxError ? `: ${error.message}` : ''
    throw new CallFailure('invalid_argument', `The message cannot be read as ${typeName}${why}`)
  }
}
