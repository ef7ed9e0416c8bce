/**
 * Writes RSocket frames, each after its 24-bit length. A frame with a payload is written between `beginFrame` and
 * `endFrame`, so that data is encoded directly into the send buffer.
 */
import {
  type ByteWriter,
  copyBytes,
  ProtocolError,
  readUint16,
  readUint63
} from '@elysia-microservices/transport/kit'
import {
  ErrorCode,
  Flag,
  FrameType,
  HEADER_LENGTH,
  LENGTH_FIELD,
  MAJOR_VERSION,
  MINOR_VERSION,
  TYPE_SHIFT
} from './frame-type.ts'

/** Begins a frame of unknown length. Returns the position of the frame, for `endFrame`. */
export function beginFrame(out: ByteWriter, streamId: number, type: number, flags: number): number {
  const start = out.length
  out.frameHeader(0, streamId, (type << TYPE_SHIFT) | flags)
  return start
}

/** Ends a frame by writing its length. Returns the length, without the length field. */
export function endFrame(out: ByteWriter, start: number): number {
  const length = out.length - start - LENGTH_FIELD
  out.setUint24(start, length)
  return length
}

/** Writes metadata after its length, as in every frame that also has data. */
export function writeMetadata(out: ByteWriter, metadata: Uint8Array): void {
  out.uint24(metadata.length)
  out.bytes(metadata)
}

export function writeRequestN(out: ByteWriter, streamId: number, n: number): void {
  out.frameHeader(10, streamId, FrameType.REQUEST_N << TYPE_SHIFT)
  out.uint32(n)
}

export function writeCancel(out: ByteWriter, streamId: number): void {
  out.frameHeader(6, streamId, FrameType.CANCEL << TYPE_SHIFT)
}

/** Writes the end of a stream, without a value. */
export function writeComplete(out: ByteWriter, streamId: number): void {
  out.frameHeader(6, streamId, (FrameType.PAYLOAD << TYPE_SHIFT) | Flag.COMPLETE)
}

/**
 * Writes an ERROR frame.
 * @param streamId 0 for an error of the whole connection
 */
export function writeError(out: ByteWriter, streamId: number, code: number, data: string): void {
  const start = beginFrame(out, streamId, FrameType.ERROR, 0)
  out.uint32(code)
  out.utf8(data)
  endFrame(out, start)
}

/** @param position the last received position; 0 without resumption */
export function writeKeepalive(out: ByteWriter, respond: boolean, position: number, data: Uint8Array): void {
  const start = beginFrame(out, 0, FrameType.KEEPALIVE, respond ? Flag.RESPOND : 0)
  out.uint63(position)
  out.bytes(data)
  endFrame(out, start)
}

/**
 * Writes a METADATA_PUSH frame. Protocol.md, "METADATA_PUSH Frame".
 * @param metadata must fit into one frame
 */
export function writeMetadataPush(out: ByteWriter, metadata: Uint8Array): void {
  out.frameHeader(HEADER_LENGTH + metadata.length, 0, (FrameType.METADATA_PUSH << TYPE_SHIFT) | Flag.METADATA)
  out.bytes(metadata)
}

export function writeLease(out: ByteWriter, timeToLive: number, requests: number): void {
  out.frameHeader(14, 0, FrameType.LEASE << TYPE_SHIFT)
  out.uint32(timeToLive)
  out.uint32(requests)
}

/** The content of a RESUME frame. */
export interface ResumeRequest {
  readonly token: Uint8Array
  readonly lastReceivedServerPosition: number
  readonly firstAvailableClientPosition: number
}

export function writeResume(out: ByteWriter, resume: ResumeRequest): void {
  const start = beginFrame(out, 0, FrameType.RESUME, 0)
  out.uint16(MAJOR_VERSION)
  out.uint16(MINOR_VERSION)
  out.uint16(resume.token.length)
  out.bytes(resume.token)
  out.uint63(resume.lastReceivedServerPosition)
  out.uint63(resume.firstAvailableClientPosition)
  endFrame(out, start)
}

/** @throws {ProtocolError} a field reaches beyond the frame */
export function readResume(buffer: Uint8Array, start: number, end: number): ResumeRequest {
  const tokenAt = start + HEADER_LENGTH + 6
  // If the frame ends before the token's length, other bytes are read as the length. That length is never less than 0,
  // so the frame is still found too short.
  const positionsAt = tokenAt + readUint16(buffer, tokenAt - 2)
  if (positionsAt + 16 > end) throw new ProtocolError('A RESUME frame ends within one of its fields')
  return {
    token: copyBytes(buffer, tokenAt, positionsAt),
    lastReceivedServerPosition: readUint63(buffer, positionsAt),
    firstAvailableClientPosition: readUint63(buffer, positionsAt + 8)
  }
}

export function writeResumeOk(out: ByteWriter, lastReceivedClientPosition: number): void {
  out.frameHeader(14, 0, FrameType.RESUME_OK << TYPE_SHIFT)
  out.uint63(lastReceivedClientPosition)
}

/** The name of an error code, for messages. */
export function errorCodeName(code: number): string {
  const known = Object.entries(ErrorCode).find(([, value]) => value === code)
  return known?.[0] ?? `0x${code.toString(16).padStart(8, '0')}`
}
