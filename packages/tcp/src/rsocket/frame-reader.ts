/**
 * Cuts frames out of chunks by their 24-bit length. A frame is read where it lies in its chunk; only a frame that spans
 * chunks is copied. Protocol.md, "Framing Format".
 */
import { PayloadTooLargeError, ProtocolError, readUint24 } from '@elysia-microservices/transport/kit'
import { HEADER_LENGTH } from './frame-type.ts'

const LENGTH_FIELD = 3
/** First size of the buffer for a frame that spans chunks: small, because a peer may only announce a large frame. */
const FIRST_SIZE = 4 * 1024
const EMPTY = Buffer.alloc(0)

/** Reads the frames of one connection. After `next` has returned true, `buffer`, `start` and `end` locate the frame. */
export class FrameReader {
  readonly #maxBufferSize: number
  /** The buffer with the frame; it belongs to the reader and may change with the next `push`. */
  buffer: Buffer = EMPTY
  /** Position of the frame, behind its length field. */
  start = 0
  /** Position behind the frame. */
  end = 0
  #chunk: Buffer = EMPTY
  #at = 0
  /** The part that has arrived of a frame that spans chunks, with its length field. */
  #partial: Buffer = EMPTY
  #filled = 0

  /** @param maxBufferSize most bytes of a frame, without its length field */
  constructor(maxBufferSize: number) {
    this.#maxBufferSize = maxBufferSize
  }

  /** Bytes received and not yet returned as frames. */
  get buffered(): number {
    return this.#chunk.length - this.#at + this.#filled
  }

  /** Whether `next` has read everything that was pushed. */
  get exhausted(): boolean {
    return this.#at === this.#chunk.length
  }

  /** Drops everything received, for example before the connection goes on with another socket. */
  reset(): void {
    this.buffer = EMPTY
    this.#chunk = EMPTY
    this.#at = 0
    this.#partial = EMPTY
    this.#filled = 0
  }

  /** Takes a chunk. Call it only after `next` has returned false. */
  push(chunk: Uint8Array): void {
    this.#chunk = chunk as Buffer
    this.#at = 0
  }

  /** Call it when the returned frames are handled: copies the rest, so that a few bytes do not keep a whole chunk. */
  keepRest(): void {
    // The last frame may be large, and the next one may come late.
    this.buffer = EMPTY
    if (this.#at === this.#chunk.length) return
    this.#chunk = Buffer.from(this.#chunk.subarray(this.#at))
    this.#at = 0
  }

  /**
   * Goes to the next complete frame. Returns false if there is none yet.
   * @throws {PayloadTooLargeError} the frame is longer than allowed
   * @throws {ProtocolError} the frame is too short
   */
  next(): boolean {
    if (this.#filled > 0) return this.#nextSpanning()
    const chunk = this.#chunk
    const at = this.#at
    const available = chunk.length - at
    if (available >= LENGTH_FIELD) {
      const start = at + LENGTH_FIELD
      const end = start + this.#checked(readUint24(chunk, at))
      if (end <= chunk.length) {
        this.buffer = chunk
        this.start = start
        this.end = end
        this.#at = end
        return true
      }
    }
    if (available > 0) this.#take(available)
    this.#chunk = EMPTY
    this.#at = 0
    return false
  }

  #nextSpanning(): boolean {
    const missing = LENGTH_FIELD - this.#filled
    if (missing > 0) {
      this.#take(Math.min(missing, this.#chunk.length - this.#at))
      if (this.#filled < LENGTH_FIELD) return false
    }
    const total = LENGTH_FIELD + this.#checked(readUint24(this.#partial, 0))
    this.#take(Math.min(total - this.#filled, this.#chunk.length - this.#at))
    if (this.#filled < total) return false
    this.buffer = this.#partial
    this.start = LENGTH_FIELD
    this.end = total
    this.#partial = EMPTY
    this.#filled = 0
    return true
  }

  #take(count: number): void {
    const needed = this.#filled + count
    if (needed > this.#partial.length) {
      const larger = Buffer.allocUnsafe(Math.max(FIRST_SIZE, needed, this.#partial.length * 2))
      this.#partial.copy(larger, 0, 0, this.#filled)
      this.#partial = larger
    }
    this.#chunk.copy(this.#partial, this.#filled, this.#at, this.#at + count)
    this.#filled = needed
    this.#at += count
  }

  #checked(length: number): number {
    if (length < HEADER_LENGTH) {
      throw new ProtocolError(`A frame of ${length} bytes was announced; the shortest has ${HEADER_LENGTH}`)
    }
    if (length > this.#maxBufferSize) {
      throw new PayloadTooLargeError('limits.receiveBuffer', this.#maxBufferSize, length, 'bytes')
    }
    return length
  }
}
