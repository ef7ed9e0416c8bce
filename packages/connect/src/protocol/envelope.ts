/**
 * Envelopes: the frames of streams in Connect, and of all messages in gRPC-Web. An envelope is a byte of flags, the
 * length of its data in four bytes, and the data.
 */
import { readUint32 } from '@elysia-microservices/transport/kit'
import { CallFailure } from './call-failure.ts'

/** The flags of an envelope. */
export const EnvelopeFlag = {
  /** The data is compressed. */
  COMPRESSED: 0x01,
  /** The last envelope of an answer in Connect. */
  END_STREAM: 0x02,
  /** The last envelope of an answer in gRPC-Web. */
  TRAILERS: 0x80
} as const

/** Bytes in front of the data. */
const HEAD = 5

/** One envelope. */
export interface Envelope {
  readonly flags: number
  /** Valid as long as the caller likes: these bytes are never overwritten. */
  readonly data: Uint8Array
}

/** Puts data into an envelope. */
export function envelope(flags: number, data: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(HEAD + data.length)
  whole[0] = flags
  new DataView(whole.buffer).setUint32(1, data.length)
  whole.set(data, HEAD)
  return whole
}

/** Cuts the chunks of a request into envelopes. Holds at most one incomplete envelope and one chunk. */
export class EnvelopeReader {
  readonly #limit: number
  #bytes: Uint8Array = new Uint8Array()
  /** The bytes between these positions are not read yet. */
  #start = 0
  #end = 0
  /** Whether `#bytes` was made here, so that more bytes may be written behind `#end`. */
  #isOwn = false

  /** @param limit largest length of the data of an envelope */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** Takes the next bytes of the request. */
  push(chunk: Uint8Array): void {
    const left = this.#end - this.#start
    if (left === 0) {
      this.#bytes = chunk
      this.#start = 0
      this.#end = chunk.length
      this.#isOwn = false
      return
    }
    if (!this.#isOwn || this.#bytes.length - this.#end < chunk.length) {
      // Twice the size, so that a message in very many chunks is copied only a few times. The old bytes are left as
      // they are, because envelopes that were read from them refer to them.
      const grown = new Uint8Array(Math.max(left + chunk.length, 2 * left))
      grown.set(this.#bytes.subarray(this.#start, this.#end))
      this.#bytes = grown
      this.#start = 0
      this.#end = left
      this.#isOwn = true
    }
    this.#bytes.set(chunk, this.#end)
    this.#end += chunk.length
  }

  /**
   * The next envelope; `undefined` if it is not complete yet.
   * @throws {CallFailure} `resource_exhausted`: its data is longer than the limit, whether it has arrived or not
   */
  next(): Envelope | undefined {
    const left = this.#end - this.#start
    if (left < HEAD) return undefined
    const length = readUint32(this.#bytes, this.#start + 1)
    if (length > this.#limit) throw tooLarge(length, this.#limit)
    if (left < HEAD + length) return undefined
    const from = this.#start + HEAD
    const flags = this.#bytes[this.#start] as number
    this.#start = from + length
    return { flags, data: this.#bytes.subarray(from, from + length) }
  }

  /** The request has ended. @throws {CallFailure} `invalid_argument`: it ended within an envelope */
  end(): void {
    if (this.#start !== this.#end)
      throw new CallFailure('invalid_argument', 'The request ends within a message')
  }
}

/** The failure of a message that is larger than allowed. */
export function tooLarge(size: number | undefined, limit: number): CallFailure {
  const found = size === undefined ? 'The message has more bytes' : `The message has ${size} bytes, more`
  return new CallFailure('resource_exhausted', `${found} than limits.messageSize allows (${limit})`)
}
