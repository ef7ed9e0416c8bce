/**
 * Frames of Nest's TCP wire: `<length>#<json>`. The length counts UTF-16 code units, as JavaScript strings do, so frames
 * are cut from decoded text, not from bytes. Hot path: one decode per chunk, one slice per frame.
 */
import { StringDecoder } from 'node:string_decoder'
import { PayloadTooLargeError, ProtocolError } from '@elysia-microservices/transport/kit'

const HASH = 0x23
const DIGIT_ZERO = 0x30
const DIGIT_NINE = 0x39
/** Most digits that the fast path reads; longer numbers may lose precision. */
const FAST_DIGITS = 15
/** Number of appends after which the pending text is made one flat string again (see `push`). */
const APPENDS_BEFORE_FLATTEN = 1024

/** Puts a frame around a JSON text. */
export function encodeFrame(json: string): string {
  return `${json.length}#${json}`
}

/** Cuts JSON texts out of the chunks of a connection. */
export class NestFrameDecoder {
  readonly #maxBufferSize: number
  readonly #utf8 = new StringDecoder('utf8')
  #text = ''
  /** Index of the next unread character of `#text`. */
  #at = 0
  /** Index from which to search for the end of an incomplete header; there is no `#` before it. */
  #searched = 0
  /** Length of the frame whose header was read; -1 if none was. */
  #length = -1
  #appends = 0

  /** @param maxBufferSize most UTF-16 units that may wait, all frames together */
  constructor(maxBufferSize: number) {
    this.#maxBufferSize = maxBufferSize
  }

  /** Characters received and not yet returned by `next`. */
  get buffered(): number {
    return this.#text.length - this.#at
  }

  /** Whether a frame has begun and is not complete. */
  get incomplete(): boolean {
    return this.#length !== -1 || this.buffered > 0
  }

  /** Takes a chunk. */
  push(chunk: Uint8Array): void {
    const text = this.#utf8.write(chunk as Buffer)
    if (this.#at === this.#text.length) {
      this.#text = text
      this.#searched = 0
      this.#appends = 0
    } else {
      // Engines keep joined strings as a rope until they are read. A peer that sends single bytes would make a node for
      // each, some 40 times the memory of the text; reading a character makes the string flat.
      this.#text = this.#at === 0 ? this.#text + text : this.#text.slice(this.#at) + text
      this.#searched = Math.max(0, this.#searched - this.#at)
      if (++this.#appends % APPENDS_BEFORE_FLATTEN === 0) this.#text.charCodeAt(0)
    }
    this.#at = 0
  }

  /** Drops everything received. */
  discard(): void {
    this.#text = ''
    this.#at = 0
    this.#length = -1
  }

  /**
   * The next complete JSON text; `undefined` if there is none yet.
   * @throws {PayloadTooLargeError} more waits than `maxBufferSize` allows
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
      // Handled text is not kept, because it may be long and the next chunk may come late.
      this.#text = ''
      this.#at = 0
    }
    return start === 0 && end === text.length ? text : text.slice(start, end)
  }

  /** @throws {PayloadTooLargeError} more waits than `maxBufferSize` allows */
  checkSize(): void {
    if (this.buffered > this.#maxBufferSize) {
      throw new PayloadTooLargeError('limits.receiveBuffer', this.#maxBufferSize, this.buffered, 'characters')
    }
  }

  /** Reads `<length>#`, the length as `parseInt` does. Returns false if its end has not arrived. */
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
    // Like Nest, reads a negative length as an empty text, which then is no JSON.
    this.#length = Math.max(0, length)
    return true
  }
}

function shorten(header: string): string {
  return header.length > 32 ? `${header.slice(0, 32)}...` : header
}
