/**
 * Messages of gRPC, and of streams in Connect: each is behind five bytes, flags and its length. Received data is cut into
 * messages where it lies; only a message that spans frames is copied. grpc: doc/PROTOCOL-HTTP2.md,
 * "Length-Prefixed-Message"; Connect calls it an envelope.
 */
import { readUint32 } from '@elysia-microservices/transport/kit'

/** The flags of a message. */
export const MessageFlag = {
  /** The message is compressed. */
  COMPRESSED: 0x01,
  /** The end of an answer in Connect, and no message. */
  END_STREAM: 0x02,
  /** The end of an answer in gRPC-Web, and no message. */
  TRAILERS: 0x80
} as const

/** Bytes before each message. */
export const PREFIX = 5
const LENGTH_AT = 1
/** First size of the buffer of a message that spans frames: a peer may announce a long one and never send it. */
const FIRST_SIZE = 1_024

/** Why data is not what it must be. */
export type WrongMessage = 'too long' | 'a flag that gRPC and Connect do not have'

/** Receives messages. The buffer is valid during the call. */
export type OnMessage = (
  isCompressed: boolean,
  buffer: Uint8Array,
  start: number,
  end: number,
  /** Bytes of the last data that belong to the message, with its prefix. */
  size: number
) => void

/** Reads the messages of one stream. */
export class MessageReader {
  /** The length of the message that was too long. */
  refused = 0
  readonly #maxLength: number
  readonly #onMessage: OnMessage
  /** The part of a message that has arrived, with its prefix. */
  #partial: Uint8Array | undefined
  #filled = 0

  /** @param maxLength most bytes of a message, as it is sent */
  constructor(maxLength: number, onMessage: OnMessage) {
    this.#maxLength = maxLength
    this.#onMessage = onMessage
  }

  /** Bytes of a message that has not arrived completely. At the end of a stream there must be none. */
  get buffered(): number {
    return this.#filled
  }

  /**
   * Data has arrived.
   * @returns what is wrong; then nothing more may be read. Otherwise the number of its bytes that belong to a message
   * which is not complete yet: the peer must get their room back, or a message longer than a window would never come.
   */
  push(buffer: Uint8Array, start: number, end: number): number | WrongMessage {
    let at = start
    while (at < end) {
      if (this.#partial !== undefined) {
        const begin = at
        const next = this.#fill(buffer, at, end)
        if (typeof next !== 'number') return next
        at = next
        if (this.#filled < PREFIX || this.#filled < this.#total) return at - begin
        this.#complete(at - begin)
        continue
      }
      if (end - at >= PREFIX) {
        const wrong = this.#check(buffer, at)
        if (wrong !== undefined) return wrong
        const next = at + PREFIX + readUint32(buffer, at + LENGTH_AT)
        if (next <= end) {
          this.#onMessage(buffer[at] === MessageFlag.COMPRESSED, buffer, at + PREFIX, next, next - at)
          at = next
          continue
        }
      }
      this.#partial = new Uint8Array(FIRST_SIZE)
      this.#filled = 0
    }
    return 0
  }

  /** The length of the message that is being filled, with its prefix. */
  get #total(): number {
    return PREFIX + readUint32(this.#partial as Uint8Array, LENGTH_AT)
  }

  /** Copies what belongs to the incomplete message. Returns the position behind it. */
  #fill(buffer: Uint8Array, start: number, end: number): number | WrongMessage {
    let at = start
    if (this.#filled < PREFIX) {
      at = this.#take(buffer, at, Math.min(end, at + PREFIX - this.#filled))
      if (this.#filled < PREFIX) return at
      const wrong = this.#check(this.#partial as Uint8Array, 0)
      if (wrong !== undefined) return wrong
    }
    return this.#take(buffer, at, Math.min(end, at + this.#total - this.#filled))
  }

  #take(buffer: Uint8Array, start: number, end: number): number {
    let partial = this.#partial as Uint8Array
    const needed = this.#filled + end - start
    if (needed > partial.length) {
      const larger = new Uint8Array(Math.max(needed, Math.min(partial.length * 2, this.#total)))
      larger.set(partial.subarray(0, this.#filled))
      partial = larger
      this.#partial = larger
    }
    partial.set(buffer.subarray(start, end), this.#filled)
    this.#filled = needed
    return end
  }

  #complete(size: number): void {
    const partial = this.#partial as Uint8Array
    const end = this.#filled
    this.#partial = undefined
    this.#filled = 0
    this.#onMessage(partial[0] === MessageFlag.COMPRESSED, partial, PREFIX, end, size)
  }

  #check(buffer: Uint8Array, at: number): WrongMessage | undefined {
    if ((buffer[at] as number) > MessageFlag.COMPRESSED) return 'a flag that gRPC and Connect do not have'
    const length = readUint32(buffer, at + LENGTH_AT)
    if (length <= this.#maxLength) return undefined
    this.refused = length
    return 'too long'
  }
}

/** A message with its prefix. @param flags of `MessageFlag` */
export function prefixed(message: Uint8Array, flags = 0): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(PREFIX + message.length)
  whole.set(message, PREFIX)
  writePrefix(whole, message.length, flags)
  return whole
}

/** Writes the prefix of a message into the first `PREFIX` bytes of a buffer. @param flags of `MessageFlag` */
export function writePrefix(buffer: Uint8Array, length: number, flags = 0): void {
  buffer[0] = flags
  // Without a DataView, which would be one object more for each value of a stream.
  buffer[LENGTH_AT] = length >>> 24
  buffer[LENGTH_AT + 1] = length >>> 16
  buffer[LENGTH_AT + 2] = length >>> 8
  buffer[LENGTH_AT + 3] = length
}
