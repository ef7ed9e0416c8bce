/**
 * The receiving half of an RSocket connection: cuts frames out of chunks by their 24-bit length, and passes them to the
 * handler while the handler may handle frames. Until then chunks wait, up to a limit. A frame is read in place in its
 * chunk; only a frame that spans chunks is copied. Protocol.md, "Framing Format".
 */
import {
  ByteList,
  copyBytes,
  PayloadTooLargeError,
  ProtocolError,
  readUint24,
  text
} from '@elysia-microservices/transport/kit'
import { HEADER_LENGTH, LENGTH_FIELD } from './frame-type.ts'

/**
 * First size of the buffer for a frame that spans chunks: small, because a peer may announce a large frame and never
 * send it.
 */
const FIRST_SIZE = 4 * 1024
const EMPTY = new Uint8Array()

/** Reads the frames of one connection. After `next` has returned true, `buffer`, `start` and `end` locate the frame. */
export class FrameReader {
  readonly #maxBufferSize: number
  /** The buffer with the frame. It belongs to the reader and may change with the next `push`. */
  buffer: Uint8Array = EMPTY
  /** Position of the frame, behind its length field. */
  start = 0
  /** Position behind the frame. */
  end = 0
  #chunk: Uint8Array = EMPTY
  #at = 0
  /** The part of a frame spanning several chunks that has arrived, with its length field. */
  #partial: Uint8Array = EMPTY
  #filled = 0

  /** @param maxBufferSize most bytes of a frame, without its length field */
  constructor(maxBufferSize: number) {
    this.#maxBufferSize = maxBufferSize
  }

  /** Bytes that were received and not yet returned as frames. */
  get buffered(): number {
    return this.#chunk.length - this.#at + this.#filled
  }

  /** Whether `next` has read all pushed bytes. */
  get exhausted(): boolean {
    return this.#at === this.#chunk.length
  }

  /** Drops all received bytes, for example before the connection continues over another socket. */
  reset(): void {
    this.buffer = EMPTY
    this.#chunk = EMPTY
    this.#at = 0
    this.#partial = EMPTY
    this.#filled = 0
  }

  /** Adds a chunk. Call `push` only after `next` has returned false. */
  push(chunk: Uint8Array): void {
    this.#chunk = chunk
    this.#at = 0
  }

  /**
   * Copies the unread bytes, so that a few bytes do not keep a whole chunk in memory. Call it when all returned frames
   * are handled.
   */
  keepRest(): void {
    // The buffer is released now, because the last frame may be large, and the next one may come late.
    this.buffer = EMPTY
    if (this.#at === this.#chunk.length) return
    this.#chunk = copyBytes(this.#chunk, this.#at, this.#chunk.length)
    this.#at = 0
  }

  /**
   * Moves to the next complete frame. Returns false if no frame is complete yet.
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
      const larger = text.allocate(Math.max(FIRST_SIZE, needed, this.#partial.length * 2))
      larger.set(this.#partial.subarray(0, this.#filled))
      this.#partial = larger
    }
    this.#partial.set(this.#chunk.subarray(this.#at, this.#at + count), this.#filled)
    this.#filled = needed
    this.#at += count
  }

  #checked(length: number): number {
    if (length < HEADER_LENGTH) {
      throw new ProtocolError(
        `A frame of ${length} bytes was announced; a frame has at least ${HEADER_LENGTH}`
      )
    }
    if (length > this.#maxBufferSize) {
      throw new PayloadTooLargeError('limits.receiveBuffer', this.#maxBufferSize, length, 'bytes')
    }
    return length
  }
}

/** Handles the frames of a connection at the moment: the handshake or the connection. */
export interface FrameHandler {
  /** Whether frames may be handled now. If not, they wait. */
  readonly mayHandle: boolean
  /** @throws {ProtocolError} the frame is not allowed */
  handleFrame(buffer: Uint8Array, start: number, end: number): void
  /** The peer has violated the protocol or a limit. */
  failed(error: Error): void
}

/** Receives the chunks of one connection. */
export class FrameInput {
  readonly #maxBufferSize: number
  readonly #reader: FrameReader
  /** Chunks that wait until frames may be handled, and the number of their bytes. Made for the first such chunk. */
  #kept: ByteList | undefined
  #keptSize = 0
  #isHandling = false
  /** The current handler: on a server first the handshake, then the connection. */
  handler: FrameHandler

  /** @param maxBufferSize most bytes that may wait, and most bytes of a frame */
  constructor(maxBufferSize: number, handler: FrameHandler) {
    this.#maxBufferSize = maxBufferSize
    this.#reader = new FrameReader(maxBufferSize)
    this.handler = handler
  }

  /** Bytes that were received and not yet handled. */
  get buffered(): number {
    return this.#reader.buffered + this.#keptSize
  }

  /** Takes a chunk. */
  receive(chunk: Uint8Array): void {
    if (this.handler.mayHandle && this.#keptSize === 0 && this.#reader.exhausted) {
      this.#reader.push(chunk)
      return this.#handle()
    }
    const size = this.#keptSize + chunk.length
    if (size > this.#maxBufferSize) {
      const error = new PayloadTooLargeError('limits.receiveBuffer', this.#maxBufferSize, size, 'bytes')
      return this.handler.failed(error)
    }
    this.#kept ??= new ByteList()
    this.#kept.add(chunk)
    this.#keptSize = size
  }

  /** Frames may be handled again. */
  resume(): void {
    if (!this.handler.mayHandle) return
    this.#handle()
    while (this.#keptSize > 0 && this.handler.mayHandle) {
      const chunk = this.#kept?.shift() as Uint8Array
      this.#keptSize -= chunk.length
      this.#reader.push(chunk)
      this.#handle()
    }
  }

  /** Drops all received bytes. */
  discard(): void {
    this.#reader.reset()
    this.#kept = undefined
    this.#keptSize = 0
  }

  /** Handles the frames of the chunk. Called only while frames may be handled. */
  #handle(): void {
    if (this.#isHandling) return
    this.#isHandling = true
    try {
      while (this.#reader.next()) {
        const { buffer, start, end } = this.#reader
        this.handler.handleFrame(buffer, start, end)
        if (!this.handler.mayHandle) break
      }
    } catch (error) {
      this.handler.failed(error as Error)
    } finally {
      this.#isHandling = false
    }
    this.#reader.keepRest()
  }
}
