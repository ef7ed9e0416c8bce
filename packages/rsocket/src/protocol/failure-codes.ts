/** Turns errors into ERROR frames of RSocket, and back. Protocol.md, "Error Codes". */
import {
  CanceledError,
  errorOf,
  errorToText,
  INTERNAL_ERROR_TEXT,
  type IncomingMessage,
  type Logger,
  RejectedError,
  readErrorText,
  text,
  ValidationError
} from '@elysia-microservices/transport/kit'
import { ErrorCode, HEADER_LENGTH, MAX_FRAME_LENGTH } from './frame-type.ts'
import { errorCodeName } from './frames.ts'
import type { Wire } from './wire.ts'

/** The content of an ERROR frame. */
export interface WireError {
  readonly code: number
  readonly data: string
}

/**
 * Makes the ERROR for an error. Clients in web pages have a smaller function than servers: it does not know Nest's
 * `HttpException`.
 */
export type ToWireError = typeof toWireError

/** Most bytes of data in an ERROR frame, which cannot be fragmented. */
const MAX_DATA_LENGTH = MAX_FRAME_LENGTH - HEADER_LENGTH - 4

/**
 * Makes the ERROR for the other side. An unexpected error is logged, and the other side gets an internal error.
 * @param of the message whose handler failed, or a text for the log that says what has failed
 */
export function toWireError(error: unknown, logger: Logger, of: IncomingMessage | string): WireError {
  const data = errorToText(error, logger, of)
  const length = text.length(data)
  if (length <= MAX_DATA_LENGTH) return { code: codeOf(error, data), data }
  const most = `more than fit into a frame (${MAX_DATA_LENGTH})`
  logger.error(`An error for the other side has ${length} bytes, ${most}; put less into its details`, error)
  return { code: ErrorCode.APPLICATION_ERROR, data: INTERNAL_ERROR_TEXT }
}

/** Answers a request with the error of its handler. */
export function sendFailure(
  wire: Wire,
  streamId: number,
  error: unknown,
  logger: Logger,
  message: IncomingMessage
): void {
  const { code, data } = toWireError(error, logger, message)
  wire.error(streamId, code, data)
}

/**
 * Answers that the result of a handler cannot be encoded: the caller gets an internal error, and the reason is logged.
 */
export function sendUnencodable(
  wire: Wire,
  streamId: number,
  cause: unknown,
  logger: Logger,
  message: IncomingMessage
): void {
  const error = new Error('The result of a handler cannot be encoded', { cause })
  sendFailure(wire, streamId, error, logger, message)
}

/** The code for an error. If the answer is `INTERNAL`, the code must not tell the caller the class of the error. */
function codeOf(error: unknown, data: string): number {
  if (data === INTERNAL_ERROR_TEXT) return ErrorCode.APPLICATION_ERROR
  if (error instanceof RejectedError) return ErrorCode.REJECTED
  if (error instanceof ValidationError) return ErrorCode.INVALID
  return ErrorCode.APPLICATION_ERROR
}

/** Makes an error from an ERROR frame of a stream. */
export function fromWireError(code: number, data: string, pattern: string): Error {
  const { code: name, message, details, received } = readErrorText(data)
  if (code === ErrorCode.REJECTED) return new RejectedError(message, received)
  if (code === ErrorCode.CANCELED) return new CanceledError(pattern, message)
  const unnamed = code === ErrorCode.APPLICATION_ERROR ? 'UNKNOWN' : errorCodeName(code)
  return errorOf(name ?? unnamed, message, details, received)
}
