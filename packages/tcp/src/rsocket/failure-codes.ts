/** The error family on RSocket's wire: error codes there, classes here. Protocol.md, "Error Codes". */
import {
  CanceledError,
  errorOf,
  errorToText,
  INTERNAL_ERROR_TEXT,
  type Logger,
  RejectedError,
  readErrorText,
  text,
  ValidationError
} from '@elysia-microservices/transport/kit'
import { ErrorCode, HEADER_LENGTH, MAX_FRAME_LENGTH } from './frame-type.ts'
import { errorCodeName } from './frames.ts'
import type { Wire } from './wire.ts'

/** What of an error crosses the wire. */
export interface WireError {
  readonly code: number
  readonly data: string
}

/** Bytes of data an ERROR frame may have: it cannot be cut into fragments. */
const MAX_DATA_LENGTH = MAX_FRAME_LENGTH - HEADER_LENGTH - 4

/**
 * What the other side is told of an error; what it may not be told is logged.
 * @param failed says in the log what has failed; default: a message handler
 */
export function toWireError(error: unknown, logger: Logger, failed?: string): WireError {
  const data = errorToText(error, logger, failed)
  const length = text.length(data)
  if (length <= MAX_DATA_LENGTH) return { code: codeOf(error, data), data }
  logger.error(`An error has ${length} bytes as text; a frame has at most ${MAX_FRAME_LENGTH}`, error)
  return { code: ErrorCode.APPLICATION_ERROR, data: INTERNAL_ERROR_TEXT }
}

/** Answers a request with the error of its handler. */
export function sendFailure(wire: Wire, streamId: number, error: unknown, logger: Logger): void {
  const { code, data } = toWireError(error, logger)
  wire.error(streamId, code, data)
}

/** A result cannot be encoded: the fault of the handler, which its caller need not understand. */
export function sendUnencodable(wire: Wire, streamId: number, cause: unknown, logger: Logger): void {
  sendFailure(wire, streamId, new Error('The result of a handler cannot be encoded', { cause }), logger)
}

/** An error that is answered as `INTERNAL` keeps its class to itself. */
function codeOf(error: unknown, data: string): number {
  if (data === INTERNAL_ERROR_TEXT) return ErrorCode.APPLICATION_ERROR
  if (error instanceof RejectedError) return ErrorCode.REJECTED
  if (error instanceof ValidationError) return ErrorCode.INVALID
  return ErrorCode.APPLICATION_ERROR
}

/** The error for what came in an ERROR frame of a stream. */
export function fromWireError(code: number, data: string, pattern: string): Error {
  const { code: name, message, details, received } = readErrorText(data)
  if (code === ErrorCode.REJECTED) return new RejectedError(message, received)
  if (code === ErrorCode.CANCELED) return new CanceledError(pattern, message)
  const unnamed = code === ErrorCode.APPLICATION_ERROR ? 'UNKNOWN' : errorCodeName(code)
  return errorOf(name ?? unnamed, message, details, received)
}
