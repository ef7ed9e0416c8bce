/**
 * Frames of Nest's TCP wire: `<length>#<json>`, the length in UTF-16 code units of the JSON text. Because
 * the unit is that of JavaScript strings, frames are cut from decoded text, not from bytes. Hot path: one
 * decode for each chunk, one slice for each frame.
 */
import { StringDecoder } from 'node:string_decoder'
import { PayloadTooLargeError, ProtocolError } from '@elysia-microservices/transport/kit'

const HASH = 0x23
const DIGIT_ZERO = 0x30
const DIGIT_NINE = 0x39
/** Longer headers take the slow way: numbers above this many digits may lose precision. */
const FAST_DIGITS = 15
/** Appends after which the pending text is made one flat string again (see `push`). */
const APPENDS_BEFORE_FLATTEN = 1024

/** A frame around a JSON text, ready to be sent. */
export function encodeFrame(json: string): string {
  return `${json.length}#${json}`
}

/** Cuts the JSON texts out of a connection's bytes, whatever their division into chunks. */
export class NestFrameDecoder {
  readonly #maxBufferSize: number
  readonly #utf8 = new StringDecoder('utf8')
  #text = ''
  /** Where the next unread character of `#text` stands. */
  #at = 0
  /** Where to look for the end of a header that has begun; characters before hold no `#`. */
  #searched = 0
  /** Length of the frame whose header is read; -1 while none is. */
  #length = -1
  #appends = 0

  /** @param maxBufferSize UTF-16 units that may wait to be cut, all pipelined frames together */
  constructor(maxBufferSize: number) {
    this.#maxBufferSize = maxBufferSize
  }

  /** Characters received and not yet returned by `next`. */
  get buffered(): number {
    return this.#text.length - this.#at
  }

  /** A frame has begun and its end has not been seen. */
  get incomplete(): boolean {
    return this.#length !== -1 || this.buffered > 0
  }

  /** Takes what was read. */
  push(chunk: Uint8Array): void {
    const text = this.#utf8.write(chunk as Buffer)
    if (this.#at === this.#text.length) {
      this.#text = text
      this.#searched = 0
      this.#appends = 0
    } else {
      // A rope: engines join it when it is read. A peer that sends byte by byte would make one node a byte,
      // some 40 times the memory of the text; reading a character makes it flat.
      this.#text = this.#at === 0 ? this.#text + text : this.#text.slice(this.#at) + text
      this.#searched = Math.max(0, this.#searched - this.#at)
      if (++this.#appends % APPENDS_BEFORE_FLATTEN === 0) this.#text.charCodeAt(0)
    }
    this.#at = 0
  }

  /** Forgets what has come. */
  discard(): void {
    this.#text = ''
    this.#at = 0
    this.#length = -1
  }

  /**
   * The next complete JSON text; `undefined` if there is none yet.
   * @throws {PayloadTooLargeError} more is waiting than `maxBufferSize` allows
   * @throws {ProtocolError} the length is not a number
   */
  next(): string | undefined {
    const text = this.#text
    this.checkSize()
    if (this.#length === -1 && !this.#readHeader(text)) return undefined
    const start = this.#at
    const end = start + this.#length
    if (end > text.length) return undefined
    this.#length = -1
    if (end < text.length) {
      this.#at = end
      this.#searched = end
    } else {
      // What is handled is not kept: it may be much, and the next chunk a long time off.
      this.#text = ''
      this.#at = 0
    }
    return start === 0 && end === text.length ? text : text.slice(start, end)
  }

  /** @throws {PayloadTooLargeError} more is waiting than `maxBufferSize` allows */
  checkSize(): void {
    if (this.buffered > this.#maxBufferSize) {
      throw new PayloadTooLargeError('limits.receiveBuffer', this.#maxBufferSize, this.buffered, 'characters')
    }
  }

  /** Reads `<length>#`; false if its end has not arrived. Lengths are read as `parseInt` reads them. */
  #readHeader(text: string): boolean {
    let length = 0
    const start = this.#at
    const fastEnd = Math.min(text.length, start + FAST_DIGITS)
    for (let at = start; at < fastEnd; at++) {
      const unit = text.charCodeAt(at)
      if (unit === HASH && at > start) {
        this.#at = at + 1
        this.#length = length
        return true
      }
      if (unit < DIGIT_ZERO || unit > DIGIT_NINE) break
      length = length * 10 + (unit - DIGIT_ZERO)
    }
    return this.#readUnusualHeader(text)
  }

  #readUnusualHeader(text: string): boolean {
    const hash = text.indexOf('#', Math.max(this.#at, this.#searched))
    if (hash === -1) {
      this.#searched = text.length
      return false
    }
    const header = text.slice(this.#at, hash)
    const length = Number.parseInt(header, 10)
    if (Number.isNaN(length)) {
      throw new ProtocolError(
        `Corrupted length value "${shorten(header)}" of a received frame: expected decimal digits before '#'`
      )
    }
    this.#at = hash + 1
    // Nest reads a negative length as an empty text, which then is not JSON.
    this.#length = Math.max(0, length)
    return true
  }
}

function shorten(header: string): string {
  return header.length > 32 ? `${header.slice(0, 32)}...` : header
}
