/**
 * Cuts frames out of a byte stream by their 24-bit length. A frame is read where it lies in its chunk; only
 * one that spans chunks is copied together first. Protocol.md, "Framing Format".
 */
import { PayloadTooLargeError, ProtocolError, readUint24 } from '@elysia-microservices/transport/kit'
import { HEADER_LENGTH } from './frame-type.ts'

const LENGTH_FIELD = 3
/** First size of the buffer for a frame that spans chunks: a peer that only announces 16 MiB gets no 16 MiB. */
const FIRST_SIZE = 4 * 1024
const EMPTY = Buffer.alloc(0)

/** Reads one connection. After `next` returned true, `buffer`, `start` and `end` say where the frame lies. */
export class FrameReader {
  readonly #maxBufferSize: number
  /** Holds the frame; belongs to the reader, and may change with the next `push`. */
  buffer: Buffer = EMPTY
  /** Where the frame begins, behind its length field. */
  start = 0
  /** Where it ends. */
  end = 0
  #chunk: Buffer = EMPTY
  #at = 0
  /** What has arrived of a frame that spans chunks, its length field first. */
  #partial: Buffer = EMPTY
  #filled = 0

  /** @param maxBufferSize bytes a single frame may have, without its length field */
  constructor(maxBufferSize: number) {
    this.#maxBufferSize = maxBufferSize
  }

  /** Bytes received and not yet given out as frames. */
  get buffered(): number {
    return this.#chunk.length - this.#at + this.#filled
  }

  /** Whether `next` has seen everything that was pushed. */
  get exhausted(): boolean {
    return this.#at === this.#chunk.length
  }

  /** Forgets what has come: the connection goes on with another socket. */
  reset(): void {
    this.buffer = EMPTY
    this.#chunk = EMPTY
    this.#at = 0
    this.#partial = EMPTY
    this.#filled = 0
  }

  /** Takes what was read. Call it only after `next` has returned false. */
  push(chunk: Uint8Array): void {
    this.#chunk = chunk as Buffer
    this.#at = 0
  }

  /** The frames that were given out are handled; copies what is left, so that a few bytes do not keep a whole chunk. */
  keepRest(): void {
    // The last frame may be large, and the next a long time off.
    this.buffer = EMPTY
    if (this.#at === this.#chunk.length) return
    this.#chunk = Buffer.from(this.#chunk.subarray(this.#at))
    this.#at = 0
  }

  /**
   * Goes to the next complete frame; false if there is none yet.
   * @throws {PayloadTooLargeError} it is longer than allowed
   * @throws {ProtocolError} it is too short to be one
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
