/** The error family on RSocket's wire: error codes there, classes here. Protocol.md, "Error Codes". */
import {
  CanceledError,
  PatternNotFoundError,
  RejectedError,
  RpcError,
  ValidationError
} from '../../errors.ts'
import { readFailure } from '../../failure.ts'
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

const INTERNAL: WireError = {
  code: ErrorCode.APPLICATION_ERROR,
  data: JSON.stringify({ code: 'INTERNAL', message: 'Internal server error' })
}

/** What a caller is told of a handler's error; what it may not be told is logged. */
export function toWireError(error: unknown, logger: Logger): WireError {
  const failure = readFailure(error)
  if (!('answer' in failure)) {
    if (failure.logged) logger.error('A message handler failed', error)
    return INTERNAL
  }
  const content = { ...(failure.answer as Record<string, unknown>) }
  // Nest's mark of an error says nothing in an ERROR frame; a status of the application's own does.
  if (content['status'] === 'error') delete content['status']
  let data: string
  try {
    data = JSON.stringify(content)
  } catch (cause) {
    logger.error('The error of a handler cannot be written as JSON', cause)
    return INTERNAL
  }
  const length = Buffer.byteLength(data, 'utf8')
  if (length <= MAX_DATA_LENGTH) return { code: codeOf(error), data }
  logger.error(`The error of a handler has ${length} bytes; a frame has at most ${MAX_FRAME_LENGTH}`)
  return INTERNAL
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
  const {
    code: name,
    message,
    details
  } = received as { code?: unknown; message?: unknown; details?: unknown }
  const text = typeof message === 'string' ? message : data
  if (name === 'PATTERN_NOT_FOUND') return new PatternNotFoundError(text, received)
  if (code === ErrorCode.REJECTED) return new RejectedError(text, received)
  if (code === ErrorCode.CANCELED) return new CanceledError(pattern, text)
  const fallback = code === ErrorCode.APPLICATION_ERROR ? 'UNKNOWN' : errorCodeName(code)
  return new RpcError({ code: typeof name === 'string' ? name : fallback, message: text, details }, received)
}

function parse(data: string): object | string {
  if (!data.startsWith('{')) return data
  try {
    return JSON.parse(data) as object
  } catch {
    return data
  }
}
