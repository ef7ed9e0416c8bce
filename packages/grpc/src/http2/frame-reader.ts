/**
 * Cuts the received bytes of a connection into frames. A frame is read where it lies in its chunk; only a frame that spans
 * chunks is copied. RFC 9113, section 4.1.
 */
import { copyBytes, readUint24, readUint31, text } from '@elysia-microservices/transport/kit'
import { frameSizeFault } from './error-code.ts'
import { FRAME_HEADER, FRAME_SIZE } from './frame-type.ts'

/**
 * First size of the buffer for a frame that spans chunks: small, because a peer may announce a large frame and never send
 * it.
 */
const FIRST_SIZE = 1024
const EMPTY = new Uint8Array()
const LENGTH_FIELD = 3
const TYPE_AT = 3
const FLAGS_AT = 4
const STREAM_AT = 5

/** Reads frames. After `next` has returned true, the fields describe the frame. */
export class FrameReader {
  /** The buffer with the payload of the frame. It may change with the next `push`. */
  buffer: Uint8Array = EMPTY
  /** The position of the payload. */
  start = 0
  /** The position behind the payload. */
  end = 0
  type = 0
  flags = 0
  streamId = 0
  #chunk: Uint8Array = EMPTY
  #at = 0
  /** The part of a frame spanning several chunks that has arrived, with its header. */
  #partial: Uint8Array = EMPTY
  #filled = 0

  /** Bytes that were received and not yet returned as frames. */
  get buffered(): number {
    return this.#chunk.length - this.#at + this.#filled
  }

  /** Whether `next` has read all pushed bytes. */
  get exhausted(): boolean {
    return this.#at === this.#chunk.length
  }

  /** Drops all received bytes. */
  reset(): void {
    this.buffer = EMPTY
    this.#chunk = EMPTY
    this.#at = 0
    this.#partial = EMPTY
    this.#filled = 0
  }

  /** Adds a chunk. Call `push` only after `next` has returned false. */
  push(chunk: Uint8Array, from = 0): void {
    this.#chunk = chunk
    this.#at = from
  }

  /**
   * Copies the unread bytes, so that a few bytes do not keep a whole chunk in memory. Call it when all returned frames are
   * handled.
   */
  keepRest(): void {
    this.buffer = EMPTY
    if (this.#at === this.#chunk.length) {
      this.#chunk = EMPTY
      this.#at = 0
    } else if (this.#at > 0) {
      this.#chunk = copyBytes(this.#chunk, this.#at, this.#chunk.length)
      this.#at = 0
    }
  }

  /**
   * Moves to the next complete frame. Returns false if no frame is complete yet.
   * @throws {ConnectionFault} the frame is longer than SETTINGS_MAX_FRAME_SIZE
   */
  next(): boolean {
    if (this.#filled > 0) return this.#nextSpanning()
    const chunk = this.#chunk
    const at = this.#at
    const available = chunk.length - at
    if (available >= FRAME_HEADER) {
      const end = at + FRAME_HEADER + checked(readUint24(chunk, at))
      if (end <= chunk.length) {
        this.#at = end
        this.#found(chunk, at, end)
        return true
      }
    }
    if (available > 0) this.#take(available)
    return false
  }

  #nextSpanning(): boolean {
    this.#take(Math.min(Math.max(0, FRAME_HEADER - this.#filled), this.#chunk.length - this.#at))
    // A length that is too large is refused as soon as it has arrived.
    if (this.#filled < LENGTH_FIELD) return false
    const total = FRAME_HEADER + checked(readUint24(this.#partial, 0))
    if (this.#filled < FRAME_HEADER) return false
    this.#take(Math.min(total - this.#filled, this.#chunk.length - this.#at))
    if (this.#filled < total) return false
    this.#found(this.#partial, 0, total)
    this.#partial = EMPTY
    this.#filled = 0
    return true
  }

  #found(buffer: Uint8Array, at: number, end: number): void {
    this.buffer = buffer
    this.start = at + FRAME_HEADER
    this.end = end
    this.type = buffer[at + TYPE_AT] as number
    this.flags = buffer[at + FLAGS_AT] as number
    this.streamId = readUint31(buffer, at + STREAM_AT)
  }

  #take(count: number): void {
    const needed = this.#filled + count
    if (needed > this.#partial.length) {
      const larger = text.allocate(Math.max(FIRST_SIZE, needed, this.#partial.length * 2))
      larger.set(this.#partial.subarray(0, this.#filled))
      this.#partial = larger
    }
    this.#partial.set(this.#chunk.subarray(this.#at, this.#at + count), this.#filled)
    this.#filled = needed
    this.#at += count
  }
}

function checked(length: number): number {
  if (length > FRAME_SIZE)
    throw frameSizeFault(`A frame of ${length} bytes was announced; at most ${FRAME_SIZE} are allowed`)
  return length
}
