/** The rules for the headers of frames that do not depend on the state of a stream. RFC 9113, section 6. */
import { readUint31 } from '@elysia-microservices/transport/kit'
import { ErrorCode, frameSizeFault, protocolFault, StreamFault } from './error-code.ts'
import { Flag, FrameType, PING_LENGTH } from './frame-type.ts'

const CODE_LENGTH = 4
const PRIORITY_LENGTH = 5
const GOAWAY_LENGTH = 8

/** Types of frames that belong to a stream. */
const OF_STREAM: ReadonlySet<number> = new Set([
  FrameType.DATA,
  FrameType.HEADERS,
  FrameType.PRIORITY,
  FrameType.RST_STREAM,
  FrameType.PUSH_PROMISE,
  FrameType.CONTINUATION
])
/** Types of frames that belong to the connection. WINDOW_UPDATE belongs to either. */
const OF_CONNECTION: ReadonlySet<number> = new Set([FrameType.SETTINGS, FrameType.PING, FrameType.GOAWAY])

/**
 * Checks the header of a frame.
 * @throws {ConnectionFault | StreamFault} the frame breaks a rule
 */
export function checkFrame(type: number, flags: number, streamId: number, length: number): void {
  if (streamId === 0 ? OF_STREAM.has(type) : OF_CONNECTION.has(type))
    throw protocolFault(`A frame of type ${type} has the stream ${streamId}`)
  if (type === FrameType.PRIORITY && length !== PRIORITY_LENGTH)
    throw new StreamFault(streamId, ErrorCode.FRAME_SIZE_ERROR, `PRIORITY has ${length} bytes`)
  if (!hasRightLength(type, flags, length))
    throw frameSizeFault(`A frame of type ${type} has ${length} bytes`)
}

function hasRightLength(type: number, flags: number, length: number): boolean {
  switch (type) {
    case FrameType.RST_STREAM:
    case FrameType.WINDOW_UPDATE:
      return length === CODE_LENGTH
    case FrameType.PING:
      return length === PING_LENGTH
    case FrameType.GOAWAY:
      return length >= GOAWAY_LENGTH
    case FrameType.SETTINGS:
      return (flags & Flag.ACK) === 0 || length === 0
    default:
      return true
  }
}

/** The content of a frame without its padding and priority. */
export interface Content {
  start: number
  end: number
  /** The stream depends on itself. */
  isCircular: boolean
}

const content: Content = { start: 0, end: 0, isCircular: false }

/**
 * Finds the content of DATA or HEADERS. The result is valid until the next call.
 * @throws {ConnectionFault} the frame is too short for its padding or priority
 */
export function contentOf(
  type: number,
  flags: number,
  streamId: number,
  buffer: Uint8Array,
  start: number,
  end: number
): Content {
  content.start = start
  content.end = end
  content.isCircular = false
  if ((flags & Flag.PADDED) !== 0) {
    if (start === end) throw frameSizeFault('A padded frame has no length of its padding')
    content.end -= buffer[content.start++] as number
  }
  if (type === FrameType.HEADERS && (flags & Flag.PRIORITY) !== 0) {
    if (content.start + PRIORITY_LENGTH > end)
      throw frameSizeFault('HEADERS are too short for their priority')
    content.isCircular = readUint31(buffer, content.start) === streamId
    content.start += PRIORITY_LENGTH
  }
  if (content.start > content.end) throw protocolFault('The padding of a frame is longer than the frame')
  return content
}
