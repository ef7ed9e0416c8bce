/** Writes HTTP/2 frames. RFC 9113, section 6. HEADERS are written by `field-output.ts`. */
import type { ByteWriter } from '@elysia-microservices/transport/kit'
import { Flag, FrameType, PING_LENGTH } from './frame-type.ts'

/** Writes the header of a frame. */
export function writeFrameHeader(
  out: ByteWriter,
  length: number,
  type: number,
  flags: number,
  streamId: number
): void {
  // Length and type are 32 bits together. The length never has its highest bit, as frames have at most 16 KB.
  out.uint32((length << 8) | type)
  out.uint8(flags)
  out.uint32(streamId)
}

export function writeReset(out: ByteWriter, streamId: number, code: number): void {
  writeFrameHeader(out, 4, FrameType.RST_STREAM, 0, streamId)
  out.uint32(code)
}

/** Writes SETTINGS, as pairs of an identifier and a value. */
export function writeSettings(out: ByteWriter, settings: readonly (readonly [number, number])[]): void {
  writeFrameHeader(out, settings.length * 6, FrameType.SETTINGS, 0, 0)
  for (const [identifier, value] of settings) {
    out.uint16(identifier)
    out.uint32(value)
  }
}

/** Writes the acknowledgement of SETTINGS. */
export function writeSettingsAck(out: ByteWriter): void {
  writeFrameHeader(out, 0, FrameType.SETTINGS, Flag.ACK, 0)
}

/** Writes a PING or its answer, with the 8 bytes from `start` on. */
export function writePing(out: ByteWriter, isAnswer: boolean, buffer: Uint8Array, start = 0): void {
  writeFrameHeader(out, PING_LENGTH, FrameType.PING, isAnswer ? Flag.ACK : 0, 0)
  for (let at = start; at < start + PING_LENGTH; at++) out.uint8(buffer[at] as number)
}

/** @param lastStreamId the last stream of the peer that was or may be handled */
export function writeGoAway(out: ByteWriter, lastStreamId: number, code: number, reason: string): void {
  const start = out.length
  writeFrameHeader(out, 0, FrameType.GOAWAY, 0, 0)
  const payload = out.length
  out.uint32(lastStreamId)
  out.uint32(code)
  out.utf8(reason)
  out.setUint24(start, out.length - payload)
}

/** @param streamId 0 for the window of the connection */
export function writeWindowUpdate(out: ByteWriter, streamId: number, increment: number): void {
  writeFrameHeader(out, 4, FrameType.WINDOW_UPDATE, 0, streamId)
  out.uint32(increment)
}
