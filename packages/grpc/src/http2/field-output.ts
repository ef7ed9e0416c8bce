/** Writes the fields of a message: HEADERS, and CONTINUATION if they are long. RFC 9113, sections 6.2 and 6.10. */
import type { ByteWriter } from '@elysia-microservices/transport/kit'
import { Flag, FRAME_HEADER, FRAME_SIZE, FrameType } from './frame-type.ts'
import { writeFrameHeader } from './frames.ts'
import type { HpackEncoder } from './hpack/encoder.ts'

/**
 * Writes fields: name, value, name, value…
 * @throws {Error} a text is not ASCII: then nothing was written, and the connection must end
 */
export function writeFields(
  out: ByteWriter,
  encoder: HpackEncoder,
  streamId: number,
  fields: readonly string[],
  isLast: boolean
): void {
  const start = out.length
  const flags = isLast ? Flag.END_STREAM : 0
  // The length is written when it is known.
  writeFrameHeader(out, 0, FrameType.HEADERS, Flag.END_HEADERS | flags, streamId)
  try {
    encoder.encode(out, fields)
  } catch (error) {
    out.rewind(start)
    throw error
  }
  const length = out.length - start - FRAME_HEADER
  if (length <= FRAME_SIZE) return out.setUint24(start, length)
  const block = out.copyFrom(start + FRAME_HEADER)
  out.rewind(start)
  for (let at = 0; at < length; at += FRAME_SIZE) {
    const end = Math.min(length, at + FRAME_SIZE)
    const type = at === 0 ? FrameType.HEADERS : FrameType.CONTINUATION
    const ending = end === length ? Flag.END_HEADERS : 0
    writeFrameHeader(out, end - at, type, ending | (at === 0 ? flags : 0), streamId)
    out.bytes(block.subarray(at, end))
  }
}
