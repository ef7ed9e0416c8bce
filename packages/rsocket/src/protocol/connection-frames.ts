/** Handles the frames on stream 0 of a set-up connection. Protocol.md, "Frame Types". */
import { ProtocolError, readUint31, readUint32, readUint63, text } from '@elysia-microservices/transport/kit'
import { Flag, FrameType } from './frame-type.ts'
import { writeKeepalive } from './frames.ts'
import type { Wire } from './wire.ts'

/** Handlers of frames on stream 0, which differ between client and server. */
export interface ConnectionRole {
  /** This side may send `requests` requests within `timeToLive` milliseconds. */
  leased(timeToLive: number, requests: number): void
  /** The other side has answered a KEEPALIVE. */
  alive(): void
  /** The other side has sent a KEEPALIVE with this data, which was answered. */
  probed?(buffer: Uint8Array, start: number, end: number): void
  /** The other side has ended the connection, or will end it. */
  ended(code: number, data: string): void
  metadataPushed(buffer: Uint8Array, start: number, end: number): void
}

/**
 * Handles a frame on stream 0.
 * @throws {ProtocolError} the frame is not allowed
 */
export function handleConnectionFrame(
  wire: Wire,
  role: ConnectionRole,
  type: number,
  flags: number,
  buffer: Uint8Array,
  at: number,
  end: number
): void {
  switch (type) {
    case FrameType.KEEPALIVE:
      need(at + 8 <= end, 'a position')
      wire.resumption?.acknowledged(readUint63(buffer, at))
      if ((flags & Flag.RESPOND) === 0) return role.alive()
      writeKeepalive(wire.bytes, false, wire.resumption?.received ?? 0, buffer.subarray(at + 8, end))
      wire.flush()
      return role.probed?.(buffer, at + 8, end)
    case FrameType.LEASE:
      need(at + 8 <= end, 'a lease')
      return role.leased(readUint31(buffer, at), readUint31(buffer, at + 4))
    case FrameType.ERROR:
      need(at + 4 <= end, 'an error code')
      return role.ended(readUint32(buffer, at), text.read(buffer, at + 4, end))
    case FrameType.METADATA_PUSH:
      return role.metadataPushed(buffer, at, end)
    // "All other received frames that are not accounted for MUST be ignored": a second SETUP, stream frames on stream
    // 0, a RESUME_OK without a RESUME.
    case FrameType.RESUME:
      throw new ProtocolError('RESUME arrived on a connection that is already set up')
    default:
      unknownFrame(type, flags)
  }
}

/**
 * Ignores a frame if the protocol allows it.
 * @throws {ProtocolError} the frame must not be ignored
 */
export function unknownFrame(type: number, flags: number): void {
  if (flags & Flag.IGNORE || (type >= FrameType.SETUP && type <= FrameType.RESUME_OK)) return
  throw new ProtocolError(`Frames of type 0x${type.toString(16)} are not understood and may not be ignored`)
}

/** @throws {ProtocolError} the frame ends before a field */
export function need(isThere: boolean, what: string): void {
  if (!isThere) throw new ProtocolError(`A frame ends before ${what}`)
}
