/**
 * The receiving half of an RSocket connection: cuts frames out of chunks and gives them to the handler while it may
 * handle frames. Until then it keeps chunks, up to a limit.
 */
import { ByteList, PayloadTooLargeError } from '@elysia-microservices/transport/kit'
import { FrameReader } from './frame-reader.ts'

/** Handles the frames of a connection at the moment. */
export interface FrameHandler {
  /** Whether frames may be handled now. If not, they are kept. */
  readonly mayHandle: boolean
  /** @throws {ProtocolError} the frame is not allowed */
  handleFrame(buffer: Buffer, start: number, end: number): void
  /** The peer broke the protocol or a limit. */
  failed(error: Error): void
}

/** The input of one connection. */
export class FrameInput {
  readonly #maxBufferSize: number
  readonly #reader: FrameReader
  /** Chunks that wait until frames may be handled. Made for the first of them. */
  #kept: ByteList | undefined
  #isHandling = false
  /** The present handler: on a server the handshake first, then the connection. */
  handler: FrameHandler

  /** @param maxBufferSize most bytes that may be kept, and that a frame may have */
  constructor(maxBufferSize: number, handler: FrameHandler) {
    this.#maxBufferSize = maxBufferSize
    this.#reader = new FrameReader(maxBufferSize)
    this.handler = handler
  }

  /** Bytes received and not yet handled. */
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

  /** Drops everything received. */
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
