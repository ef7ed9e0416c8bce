/**
 * Writes DATA frames. Data of one stream that follows in the same turn makes the frame before it longer, as long as that
 * frame is not sent yet: each frame costs the peer some work, and a value of a stream is often shorter than a hundred bytes.
 * RFC 9113, section 6.1.
 */
import { ByteWriter } from '@elysia-microservices/transport/kit'
import { Flag, FRAME_HEADER, FRAME_SIZE, FrameType } from './frame-type.ts'
import { writeFrameHeader } from './frames.ts'

/** The bytes of a connection that are not sent yet. */
export class FrameBytes extends ByteWriter {
  /** How often all bytes were sent, or dropped: positions from before are worth nothing then. */
  resets = 0

  override reset(): void {
    this.resets++
    super.reset()
  }
}

/** The DATA frames of one connection. */
export class DataFrames {
  readonly #out: FrameBytes
  /** The last frame: its stream, its position, the position behind it, and the state of the bytes at that time. */
  #streamId = 0
  #start = 0
  #end = 0
  #resets = 0

  constructor(out: FrameBytes) {
    this.#out = out
  }

  /** Writes a part of a buffer. @param isLast nothing comes behind it on the stream */
  write(streamId: number, bytes: Uint8Array, start: number, end: number, isLast: boolean): void {
    const out = this.#out
    const size = end - start
    const before = this.#end - this.#start - FRAME_HEADER
    const isSame = streamId === this.#streamId && out.length === this.#end && out.resets === this.#resets
    if (isSame && before + size <= FRAME_SIZE) {
      out.setUint24(this.#start, before + size)
      if (isLast) out.buffer[this.#start + FLAGS_AT] = Flag.END_STREAM
    } else {
      this.#streamId = streamId
      this.#start = out.length
      writeFrameHeader(out, size, FrameType.DATA, isLast ? Flag.END_STREAM : 0, streamId)
    }
    out.bytes(bytes, start, end)
    this.#end = out.length
    this.#resets = out.resets
  }
}

/** The position of the flags in a frame. */
const FLAGS_AT = 4
