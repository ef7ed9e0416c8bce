/**
 * Frames of Nest's TCP wire: `<length>#<json>`. The length counts UTF-16 code units, as JavaScript strings do, so
 * frames are cut from decoded text, not from bytes. This is a hot path: one decode per chunk, one slice per frame.
 */
import { StringDecoder } from 'node:string_decoder'
import { PayloadTooLargeError, ProtocolError } from '@elysia-microservices/transport/kit'

const HASH = 0x23
const DIGIT_ZERO = 0x30
const DIGIT_NINE = 0x39
/** Most digits that the fast path reads; longer numbers may lose precision. */
const FAST_DIGITS = 15
/**
 * Most characters of a length. Nest waits for the end of a length as long as its buffer allows. But each chunk of a
 * length without end would cause all earlier chunks to be copied again.
 */
const MAX_HEADER = 1_024
/**
 * A piece of waiting text with fewer characters is extended by the next chunk; otherwise the chunk begins a new piece.
 */
const PIECE = 16 * 1024
/** Number of chunks after which the extended piece is made one flat string again (see `#keep`). */
const CHUNKS_BEFORE_FLATTEN = 1024

/** Puts a frame around a JSON text. */
export function encodeFrame(json: string): string {
  return `${json.length}#${json}`
}

/**
 * Cuts JSON texts out of the chunks of a connection. A chunk that arrives while others wait is stored, and joined only
 * to the frame to which it belongs: to join all chunks for each frame would copy each chunk many times, and keep the
 * copies in memory.
 */
export class NestFrameDecoder {
  readonly #maxBufferSize: number
  readonly #utf8 = new StringDecoder('utf8')
  /** The text being read. */
  #text = ''
  /** Index of the next unread character of `#text`. */
  #at = 0
  /** Pieces of text that follow `#text`, in order; none is empty. A piece may consist of several chunks. */
  #later: string[] = []
  #laterLength = 0
  /** Index from which to search for the end of an incomplete header; no `#` is before this index. */
  #searched = 0
  /** Length of the frame whose header was read; -1 if no header was read. */
  #length = -1
  /** Number of chunks by which pieces were extended. */
  #added = 0

  /** @param maxBufferSize most UTF-16 units that may wait, in all frames together */
  constructor(maxBufferSize: number) {
    this.#maxBufferSize = maxBufferSize
  }

  /** Number of characters that were received and not yet returned by `next`. */
  get buffered(): number {
    return this.#text.length - this.#at + this.#laterLength
  }

  /** Whether a frame has begun and is not complete. */
  get incomplete(): boolean {
    return this.#length !== -1 || this.buffered > 0
  }

  /** Adds a chunk. */
  push(chunk: Uint8Array): void {
    const text = this.#utf8.write(chunk as Buffer)
    if (this.buffered > 0) return this.#keep(text)
    this.#text = text
    this.#at = 0
    this.#searched = 0
  }

  #keep(text: string): void {
    const last = this.#later.length - 1
    const piece = this.#later[last]
    this.#laterLength += text.length
    if (piece === undefined || piece.length >= PIECE) {
      if (text !== '') this.#later.push(text)
      return
    }
    const longer = piece + text
    // JavaScript engines store joined strings as a rope until the string is read. If a peer sends single bytes, each
    // would be a node, which takes some 40 times the memory of the text. Reading a character makes the string flat.
    if (++this.#added % CHUNKS_BEFORE_FLATTEN === 0) longer.charCodeAt(0)
    this.#later[last] = longer
  }

  /** Drops all received text. */
  discard(): void {
    this.#text = ''
    this.#at = 0
    this.#later = []
    this.#laterLength = 0
    this.#length = -1
  }

  /**
   * Returns the next complete JSON text; `undefined` if no text is complete yet.
   * @throws {PayloadTooLargeError} more characters wait than `maxBufferSize` allows
   * @throws {ProtocolError} the length is not a number
   */
  next(): string | undefined {
    this.checkSize()
    while (this.#length === -1 && !this.#readHeader(this.#text)) if (!this.#lengthen()) return undefined
    const text = this.#text
    const start = this.#at
    const end = start + this.#length
    if (end > text.length) return this.#length > this.buffered ? undefined : this.#join(this.#length)
    this.#length = -1
    if (end < text.length) {
      this.#at = end
      this.#searched = end
    } else this.#nextText()
    return start === 0 && end === text.length ? text : text.slice(start, end)
  }

  /**
   * Replaces `#text`, which was handled. The old text is not kept, because it may be long and the next chunk may arrive
   * late.
   */
  #nextText(): void {
    this.#text = this.#laterLength === 0 ? '' : this.#takeLater()
    this.#at = 0
    this.#searched = 0
  }

  #takeLater(): string {
    const piece = this.#later.shift() as string
    this.#laterLength -= piece.length
    return piece
  }

  /** Adds the next piece to `#text`, because a header spans both. Returns false if there is no piece. */
  #lengthen(): boolean {
    if (this.#laterLength === 0) return false
    this.#searched = Math.max(0, this.#searched - this.#at)
    this.#text = this.#text.slice(this.#at) + this.#takeLater()
    this.#at = 0
    return true
  }

  /** Joins the text of a complete frame that begins in `#text` and ends in a later piece. */
  #join(length: number): string {
    const parts = [this.#text.slice(this.#at)]
    let missing = length - (this.#text.length - this.#at)
    while (true) {
      const piece = this.#takeLater()
      if (piece.length >= missing) {
        parts.push(piece.slice(0, missing))
        this.#text = piece
        break
      }
      parts.push(piece)
      missing -= piece.length
    }
    this.#length = -1
    this.#at = missing
    this.#searched = missing
    if (missing === this.#text.length) this.#nextText()
    return parts.length === 2 ? `${parts[0]}${parts[1]}` : parts.join('')
  }

  /** @throws {PayloadTooLargeError} more characters wait than `maxBufferSize` allows */
  checkSize(): void {
    if (this.buffered > this.#maxBufferSize) {
      throw new PayloadTooLargeError('limits.receiveBuffer', this.#maxBufferSize, this.buffered, 'characters')
    }
  }

  /** Reads `<length>#`, the length as `parseInt` does. Returns false if the `#` has not arrived. */
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
    const header = text.slice(this.#at, hash === -1 ? text.length : hash)
    if (header.length > MAX_HEADER) throw corrupted(header, `at most ${MAX_HEADER} characters before '#'`)
    if (hash === -1) {
      this.#searched = text.length
      return false
    }
    const length = Number.parseInt(header, 10)
    if (Number.isNaN(length)) throw corrupted(header, "decimal digits before '#'")
    this.#at = hash + 1
    // As in Nest, a negative length means an empty text, which is then refused because it is not JSON.
    this.#length = Math.max(0, length)
    return true
  }
}

function corrupted(header: string, expected: string): ProtocolError {
  return new ProtocolError(
    `Corrupted length value "${shorten(header)}" of a received frame: expected ${expected}`
  )
}

function shorten(header: string): string {
  return header.length > 32 ? `${header.slice(0, 32)}...` : header
}
