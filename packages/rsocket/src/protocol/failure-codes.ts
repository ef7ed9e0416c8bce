/** Turns errors into ERROR frames of RSocket, and back. Protocol.md, "Error Codes". */
import {
  CanceledError,
  errorOf,
  errorToText,
  INTERNAL_ERROR_TEXT,
  type IncomingMessage,
  inFront,
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

/** Most bytes of data in an ERROR frame, which cannot be fragmented. A function, so that pages leave it out. */
const maxDataLength = (): number => MAX_FRAME_LENGTH - HEADER_LENGTH - 4

/**
 * Makes the ERROR for the other side. An unexpected error is logged, and the other side gets an internal error.
 * @param of the message whose handler failed, or a text for the log that says what has failed
 */
export function toWireError(error: unknown, logger: Logger, of: IncomingMessage | string): WireError {
  const data = errorToText(error, logger, of)
  const length = text.length(data)
  if (length <= maxDataLength()) return { code: codeOf(error, data), data }
  const most = `more than fit into a frame (${maxDataLength()})`
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
  const json = message.takeSet(true)
  const whole = json === undefined ? data : inFront(json, data)
  if (json === undefined || text.length(whole) <= maxDataLength()) return wire.error(streamId, code, whole)
  logger.error(`The headers of an error of '${message.pattern}' do not fit into a frame, and are left out`)
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

/** A refused event has no answer to which an error could belong, so the error names the event's pattern. */
interface Refusal {
  readonly refusedEvent: string
  readonly code: string | undefined
  readonly message: string
  readonly details: unknown
}

/** Most characters of the message, and of the details, of a refusal. */
const MOST_OF_REFUSAL = 1_000

/**
 * Tells the sender of an event that the event was refused. Other libraries ignore an ERROR of a stream that has ended.
 * @param data the text of the error: JSON, or a sentence
 */
export function sendEventRefusal(
  wire: Wire,
  streamId: number,
  pattern: string,
  { code, data }: WireError
): void {
  const { code: name, message, details } = readErrorText(data)
  const isShort = JSON.stringify(details ?? '').length <= MOST_OF_REFUSAL
  const refusal: Refusal = {
    refusedEvent: pattern.slice(0, MOST_OF_REFUSAL),
    code: name,
    message: message.slice(0, MOST_OF_REFUSAL),
    details: isShort ? details : undefined
  }
  wire.error(streamId, code, JSON.stringify(refusal))
}

/** Reads the refusal of an event; `undefined` if the ERROR is about something else. */
export function readEventRefusal(code: number, data: string): { pattern: string; error: Error } | undefined {
  const { received, message, code: name = errorCodeName(code) } = readErrorText(data)
  const { refusedEvent: pattern, details } = Object(received) as Partial<Refusal>
  if (typeof pattern !== 'string') return undefined
  const isRejected = code === ErrorCode.REJECTED
  return {
    pattern,
    error: isRejected ? new RejectedError(message, received) : errorOf(name, message, details, received)
  }
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
