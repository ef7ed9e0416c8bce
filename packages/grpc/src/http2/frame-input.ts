/**
 * The receiving half of a connection: the preface of a client, then frames, which are handled while the peer reads our
 * answers. Until then chunks wait, up to a limit. RFC 9113, sections 3.4 and 4.1.
 */
import { ByteList } from '@elysia-microservices/transport/kit'
import { protocolFault, tooMuch } from './error-code.ts'
import { FrameReader } from './frame-reader.ts'
import { PREFACE } from './frame-type.ts'

/** Handles the frames of a connection. */
export interface FrameHandler {
  /** Whether frames may be handled now. If not, they wait. */
  readonly mayHandle: boolean
  /** Handles the frame that the reader stands at. */
  handleFrame(reader: FrameReader): void
  /** The peer has broken a rule, or this side has a bug. The handler may handle no more frames. */
  failed(error: Error): void
}

/** Receives the chunks of one connection. */
export class FrameInput {
  readonly #handler: FrameHandler
  readonly #maxBufferSize: number
  readonly #reader = new FrameReader()
  /** The bytes of the preface that have arrived; all of them at a client, whose peer sends none. */
  #prefaceAt: number
  /** Chunks that wait, and the number of their bytes. Made for the first such chunk. */
  #kept: ByteList | undefined
  #keptSize = 0
  #isHandling = false

  /** @param maxBufferSize most bytes that may wait */
  constructor(handler: FrameHandler, maxBufferSize: number, awaitsPreface: boolean) {
    this.#handler = handler
    this.#maxBufferSize = maxBufferSize
    this.#prefaceAt = awaitsPreface ? 0 : PREFACE.length
  }

  /** Bytes that were received and not yet handled. */
  get buffered(): number {
    return this.#reader.buffered + this.#keptSize + (this.#prefaceAt % PREFACE.length)
  }

  /** Takes a chunk. */
  receive(chunk: Uint8Array): void {
    if (this.#handler.mayHandle && this.#keptSize === 0 && this.#reader.exhausted && !this.#isHandling)
      return this.#handle(chunk)
    const size = this.#keptSize + chunk.length
    if (size > this.#maxBufferSize)
      return this.#handler.failed(
        tooMuch(`${size} bytes wait for the peer to read; limits.receiveBuffer is ${this.#maxBufferSize}`)
      )
    this.#kept ??= new ByteList()
    this.#kept.add(chunk)
    this.#keptSize = size
  }

  /** Frames may be handled again. */
  resume(): void {
    if (!this.#handler.mayHandle || this.#isHandling) return
    this.#handle(undefined)
    while (this.#keptSize > 0 && this.#handler.mayHandle) {
      const chunk = this.#kept?.shift() as Uint8Array
      this.#keptSize -= chunk.length
      this.#handle(chunk)
    }
  }

  /** Drops all received bytes. */
  discard(): void {
    this.#reader.reset()
    this.#kept = undefined
    this.#keptSize = 0
  }

  #handle(chunk: Uint8Array | undefined): void {
    this.#isHandling = true
    const handler = this.#handler
    const reader = this.#reader
    try {
      if (chunk !== undefined) reader.push(chunk, this.#preface(chunk))
      while (reader.next()) {
        handler.handleFrame(reader)
        if (!handler.mayHandle) break
      }
    } catch (error) {
      handler.failed(error as Error)
    }
    this.#isHandling = false
    reader.keepRest()
  }

  /** Compares the beginning of a connection with the preface. Returns the position behind it. */
  #preface(chunk: Uint8Array): number {
    let at = 0
    for (; at < chunk.length && this.#prefaceAt < PREFACE.length; at++)
      if (chunk[at] !== PREFACE[this.#prefaceAt++]) throw protocolFault('The peer does not speak HTTP/2')
    return at
  }
}
