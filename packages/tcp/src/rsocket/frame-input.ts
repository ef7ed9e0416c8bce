/**
 * The receiving half of an RSocket connection: cuts frames out of chunks and hands them on, one after the other, as
 * long as they may be handled. What may not yet is kept, within a bound.
 */
import { ByteList, PayloadTooLargeError } from '@elysia-microservices/transport/kit'
import { FrameReader } from './frame-reader.ts'

/** Who handles the frames of a connection at the moment. */
export interface FrameHandler {
  /** Whether frames may be handled now; those that may not are kept. */
  readonly mayHandle: boolean
  /** @throws {ProtocolError} the frame is not allowed */
  handleFrame(buffer: Buffer, start: number, end: number): void
  /** The peer did what it must not do. */
  failed(error: Error): void
}

/** The chunks of one connection. */
export class FrameInput {
  readonly #maxBufferSize: number
  readonly #reader: FrameReader
  /** Chunks that wait until frames may be handled. Made when there is one. */
  #kept: ByteList | undefined
  #isHandling = false
  /** A connection has one handler after another: its handshake, then itself. */
  handler: FrameHandler

  /** @param maxBufferSize bytes that may be kept, and that a frame may have */
  constructor(maxBufferSize: number, handler: FrameHandler) {
    this.#maxBufferSize = maxBufferSize
    this.#reader = new FrameReader(maxBufferSize)
    this.handler = handler
  }

  /** Bytes received and not yet handled. */
  get buffered(): number {
    return this.#reader.buffered + this.#keptSize
  }

  /** Takes what was read. */
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
  }

  /** Frames may be handled again. */
  resume(): void {
    this.#handle()
    while (this.#keptSize > 0 && this.handler.mayHandle) {
      const chunk = this.#kept?.shift() as Uint8Array
      this.#reader.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))
      this.#handle()
    }
  }

  /** Forgets what has come. */
  discard(): void {
    this.#reader.reset()
    this.#kept = undefined
  }

  get #keptSize(): number {
    return this.#kept?.length ?? 0
  }

  #handle(): void {
    if (this.#isHandling) return
    this.#isHandling = true
    try {
      while (this.handler.mayHandle && this.#reader.next()) {
        const { buffer, start, end } = this.#reader
        this.handler.handleFrame(buffer, start, end)
      }
    } catch (error) {
      this.handler.failed(error as Error)
    } finally {
      this.#isHandling = false
    }
    this.#reader.keepRest()
  }
}
