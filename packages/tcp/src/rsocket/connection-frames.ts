/** Handles the frames of a set-up connection; those on stream 0 here. Protocol.md, "Frame Types". */
import {
  ProtocolError,
  readUint16,
  readUint31,
  readUint32,
  readUint63,
  text
} from '@elysia-microservices/transport/kit'
import { Flag, FrameType, HEADER_LENGTH } from './frame-type.ts'
import { writeKeepalive } from './frames.ts'
import { hasPosition } from './resume.ts'
import { need, type StreamFrames, unknownFrame } from './stream-frames.ts'
import type { Wire } from './wire.ts'

/** What frames on stream 0 do, which differs between client and server. */
export interface ConnectionRole {
  /** This side may send `requests` requests within `timeToLive` milliseconds. */
  leased(timeToLive: number, requests: number): void
  /** The other side has answered a KEEPALIVE. */
  alive(): void
  /** The other side has ended the connection, or will. */
  ended(code: number, data: string): void
  metadataPushed(buffer: Buffer, start: number, end: number): void
}

/**
 * Handles one frame of a connection that is set up.
 * @throws {ProtocolError} the frame is not allowed
 */
export function handleFrame(
  wire: Wire,
  streams: StreamFrames,
  role: ConnectionRole,
  buffer: Buffer,
  start: number,
  end: number
): void {
  const streamId = readUint31(buffer, start)
  const typeAndFlags = readUint16(buffer, start + 4)
  const type = typeAndFlags >>> 10
  const flags = typeAndFlags & 0x3ff
  const { resumption } = wire
  if (resumption !== undefined && streamId > 0 && hasPosition(type)) resumption.received += end - start
  try {
    if (streamId > 0) streams.handle(type, flags, streamId, buffer, start + HEADER_LENGTH, end)
    else handleConnectionFrame(wire, role, type, flags, buffer, start + HEADER_LENGTH, end)
  } catch (error) {
    if ((flags & Flag.IGNORE) === 0 || !(error instanceof ProtocolError)) throw error
  }
}

function handleConnectionFrame(
  wire: Wire,
  role: ConnectionRole,
  type: number,
  flags: number,
  buffer: Buffer,
  at: number,
  end: number
): void {
  switch (type) {
    case FrameType.KEEPALIVE:
      need(at + 8 <= end, 'a position')
      wire.resumption?.acknowledged(readUint63(buffer, at))
      if ((flags & Flag.RESPOND) === 0) return role.alive()
      writeKeepalive(wire.bytes, false, wire.resumption?.received ?? 0, buffer.subarray(at + 8, end))
      return wire.flush()
    case FrameType.LEASE:
      need(at + 8 <= end, 'a lease')
      return role.leased(readUint31(buffer, at), readUint31(buffer, at + 4))
    case FrameType.ERROR:
      need(at + 4 <= end, 'an error code')
      return role.ended(readUint32(buffer, at), text.read(buffer, at + 4, end))
    case FrameType.METADATA_PUSH:
      return role.metadataPushed(buffer, at, end)
    // "All other received frames that are not accounted for MUST be ignored": a second SETUP, stream frames on stream
    // 0, a RESUME_OK that was not asked for.
    case FrameType.RESUME:
      throw new ProtocolError('RESUME came on a connection that is already set up')
    default:
      unknownFrame(type, flags)
  }
}
