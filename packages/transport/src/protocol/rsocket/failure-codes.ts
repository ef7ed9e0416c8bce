/** The error family on RSocket's wire: error codes there, classes here. Protocol.md, "Error Codes". */
import { CanceledError, errorOf, RejectedError, ValidationError } from '../../errors.ts'
import { ErrorAnswer, readFailure } from '../../failure.ts'
import type { Logger } from '../../logger.ts'
import { ErrorCode, HEADER_LENGTH, MAX_FRAME_LENGTH } from './frame-type.ts'
import { errorCodeName } from './frames.ts'

/** What of an error crosses the wire. */
export interface WireError {
  readonly code: number
  readonly data: string
}

/** Bytes of data an ERROR frame may have: it cannot be cut into fragments. */
const MAX_DATA_LENGTH = MAX_FRAME_LENGTH - HEADER_LENGTH - 4

const INTERNAL_MESSAGE = 'Internal server error'
const INTERNAL: WireError = {
  code: ErrorCode.APPLICATION_ERROR,
  data: JSON.stringify({ code: 'INTERNAL', message: INTERNAL_MESSAGE })
}

/** What a caller is told of a handler's error; what it may not be told is logged. */
export function toWireError(error: unknown, logger: Logger): WireError {
  const failure = readFailure(error)
  if (!('answer' in failure)) {
    if (failure.logged) logger.error('A message handler failed', error)
    return INTERNAL
  }
  let data: string | undefined
  try {
    data = JSON.stringify(error instanceof ErrorAnswer ? failure.answer : withoutStatus(failure.answer))
    if (data === undefined) throw new Error('JSON has no text for it')
  } catch (cause) {
    logger.error('The error of a handler cannot be written as JSON', cause)
    return INTERNAL
  }
  const length = Buffer.byteLength(data, 'utf8')
  if (length <= MAX_DATA_LENGTH) return { code: codeOf(error), data }
  logger.error(`The error of a handler has ${length} bytes; a frame has at most ${MAX_FRAME_LENGTH}`)
  return INTERNAL
}

/** What ours and Nest's errors say beside the word that they are errors, which the frame says already. */
function withoutStatus(answer: unknown): object {
  const { status, ...content } = Object(answer) as Record<string, unknown>
  return status === 'error' ? content : Object(answer)
}

function codeOf(error: unknown): number {
  if (error instanceof RejectedError) return ErrorCode.REJECTED
  if (error instanceof ValidationError) return ErrorCode.INVALID
  return ErrorCode.APPLICATION_ERROR
}

/** The error for the answer to a request that nobody handles. */
export function noHandlerError(pattern: string): WireError {
  const content = { code: 'PATTERN_NOT_FOUND', message: `There is no handler of the pattern '${pattern}'` }
  return { code: ErrorCode.APPLICATION_ERROR, data: JSON.stringify(content) }
}

/** The error for what came in an ERROR frame of a stream. */
export function fromWireError(code: number, data: string, pattern: string): Error {
  const received = parse(data)
  const content = Object(received) as { code?: unknown; message?: unknown; details?: unknown }
  const text = [content.message, received, data].find((part) => typeof part === 'string') as string
  const name = content.code
  if (code === ErrorCode.REJECTED) return new RejectedError(text, received)
  if (code === ErrorCode.CANCELED) return new CanceledError(pattern, text)
  const { details } = content
  return errorOf(typeof name === 'string' ? name : unnamed(code, text), text, details, received)
}

/** The code of an error that does not say it. Nest's handlers fail without one. */
function unnamed(code: number, text: string): string {
  if (code !== ErrorCode.APPLICATION_ERROR) return errorCodeName(code)
  return text === INTERNAL_MESSAGE ? 'INTERNAL' : 'UNKNOWN'
}

/** What the data of an error says: JSON from our side, any text from others. */
function parse(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return data
  }
}
