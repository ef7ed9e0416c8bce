/**
 * A growing buffer into which frames are written one after the other, in network byte order. The buffer is reused in
 * each turn of the event loop: after `reset`, new bytes overwrite those that `written` returned.
 */

import { text as utf8 } from './text.ts'

const INITIAL_SIZE = 4 * 1024
/** A buffer that has grown beyond this size for a large message is dropped at the next `reset`. */
const KEPT_SIZE = 256 * 1024
/** Number of buffers kept for all writers together, so that an idle connection holds none. */
const MAX_SPARE = 32

/** Bytes up to this length are copied in a loop. */
const SHORT = 32

const spare: Uint8Array[] = []
const NO_BUFFER = new Uint8Array()

/** Writes numbers, text and bytes. Positions count from the start of the buffer. */
export class ByteWriter {
  // These are fields and not accessors, because they are read many times for each message. Only the writer sets them.
  /** Bytes written since the last `reset`. */
  length = 0
  /** The buffer, whose first `length` bytes are written. Valid as long as `written`. */
  buffer: Uint8Array = NO_BUFFER

  /** The bytes written so far. Valid until the next write or `reset`; then other writers may use the buffer. */
  get written(): Uint8Array {
    return this.buffer.subarray(0, this.length)
  }

  /** A copy of the bytes written from `start` on. */
  copyFrom(start: number): Uint8Array {
    return new Uint8Array(this.buffer.subarray(start, this.length))
  }

  /** Empties the writer. */
  reset(): void {
    this.length = 0
    const buffer = this.buffer
    this.buffer = NO_BUFFER
    if (buffer.length >= INITIAL_SIZE && buffer.length <= KEPT_SIZE && spare.length < MAX_SPARE)
      spare.push(buffer)
  }

  /** Takes back everything written from `position` on, for example half a value that could not be encoded. */
  rewind(position: number): void {
    this.length = position
  }

  /** Writes one byte. */
  uint8(value: number): void {
    this.#reserve(1)
    this.buffer[this.length++] = value
  }

  /** Writes two bytes. */
  uint16(value: number): void {
    this.#reserve(2)
    this.buffer[this.length++] = value >>> 8
    this.buffer[this.length++] = value
  }

  /** Writes three bytes. */
  uint24(value: number): void {
    this.#reserve(3)
    this.setUint24(this.length, value)
    this.length += 3
  }

  /** Writes four bytes. */
  uint32(value: number): void {
    this.#reserve(4)
    const buffer = this.buffer
    buffer[this.length++] = value >>> 24
    buffer[this.length++] = value >>> 16
    buffer[this.length++] = value >>> 8
    buffer[this.length++] = value
  }

  /** Writes a number of up to 2^53 into the 63 bits that the wire has for it. */
  uint63(value: number): void {
    this.uint32(Math.floor(value / 2 ** 32))
    this.uint32(value >>> 0)
  }

  /** Overwrites three bytes written earlier, such as a length that was not known at that time. */
  setUint24(position: number, value: number): void {
    const buffer = this.buffer
    buffer[position] = value >>> 16
    buffer[position + 1] = value >>> 8
    buffer[position + 2] = value
  }

  /** Writes text as UTF-8. */
  utf8(text: string): void {
    // A UTF-16 unit takes at most three bytes.
    this.#reserve(text.length * 3)
    this.length += utf8.write(this.buffer, text, this.length)
  }

  /** Copies bytes into the buffer, or those between two positions. */
  bytes(bytes: Uint8Array, start = 0, end = bytes.length): void {
    const length = end - start
    this.#reserve(length)
    const buffer = this.buffer
    const at = this.length
    // For bytes as short as a route's metadata a loop takes half the time of `set`, which needs an object for a part.
    if (length <= SHORT)
      for (let index = 0; index < length; index++) buffer[at + index] = bytes[start + index] as number
    else buffer.set(length < bytes.length ? bytes.subarray(start, end) : bytes, at)
    this.length += length
  }

  /** Writes text as UTF-8, or bytes. */
  data(data: string | Uint8Array): void {
    if (typeof data === 'string') this.utf8(data)
    else this.bytes(data)
  }

  /** Writes the header of a frame: length, stream id, type and flags. */
  frameHeader(length: number, streamId: number, typeAndFlags: number): void {
    this.#reserve(9)
    const buffer = this.buffer
    let at = this.length
    buffer[at++] = length >>> 16
    buffer[at++] = length >>> 8
    buffer[at++] = length
    buffer[at++] = streamId >>> 24
    buffer[at++] = streamId >>> 16
    buffer[at++] = streamId >>> 8
    buffer[at++] = streamId
    buffer[at++] = typeAndFlags >>> 8
    buffer[at++] = typeAndFlags
    this.length = at
  }

  #reserve(bytes: number): void {
    const needed = this.length + bytes
    if (needed <= this.buffer.length) return
    if (this.length === 0 && needed <= INITIAL_SIZE) {
      this.buffer = spare.pop() ?? utf8.allocate(INITIAL_SIZE)
      return
    }
    const larger = utf8.allocate(Math.max(needed, this.buffer.length * 2, INITIAL_SIZE))
    larger.set(this.buffer.subarray(0, this.length))
    this.buffer = larger
  }
}
