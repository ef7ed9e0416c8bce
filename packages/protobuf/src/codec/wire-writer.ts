/**
 * A growing buffer into which the fields of messages are written. It is used again for the next message, so that a message
 * costs no object. Numbers must be in their range: `scalars.ts` has checked them.
 * https://protobuf.dev/programming-guides/encoding/
 */
import { text as utf8 } from '@elysia-microservices/transport/kit'

const FIRST_SIZE = 512
/** Texts up to this length are copied in a loop, which for ASCII takes less than a call of the runtime. Below 128. */
const SHORT = 32
const VARINT_32 = 5
const VARINT_64 = 10
const ALL_32 = 0xffff_ffffn

/** Writes one message after the other. */
export class WireWriter {
  /** The buffer, whose first `length` bytes are written. */
  buffer = new Uint8Array(FIRST_SIZE)
  length = 0
  #view = new DataView(this.buffer.buffer)

  /** Begins a message. @param room bytes to leave free in front of it */
  begin(room: number): void {
    this.length = 0
    this.#reserve(room)
    this.length = room
  }

  /** A number from 0 to 2^32 - 1. */
  varint(value: number): void {
    this.#reserve(VARINT_32)
    this.#varint(value)
  }

  /** A number from -2^31 to 2^31 - 1. Those below 0 take as many bytes as if they had 64 bits. */
  int32(value: number): void {
    if (value < 0) this.varint64(BigInt(value))
    else this.varint(value)
  }

  sint32(value: number): void {
    this.varint(((value << 1) ^ (value >> 31)) >>> 0)
  }

  /** A number of 64 bits, with or without a sign. */
  varint64(value: bigint): void {
    this.#reserve(VARINT_64)
    const bits = BigInt.asUintN(64, value)
    let low = Number(bits & ALL_32)
    let high = Number(bits >> 32n)
    while (high > 0) {
      this.buffer[this.length++] = (low & 0x7f) | 0x80
      low = ((low >>> 7) | (high << 25)) >>> 0
      high >>>= 7
    }
    this.#varint(low)
  }

  sint64(value: bigint): void {
    this.varint64((value << 1n) ^ (value >> 63n))
  }

  bool(value: boolean): void {
    this.#reserve(1)
    this.buffer[this.length++] = value ? 1 : 0
  }

  /** A number of 32 bits, with or without a sign. */
  fixed32(value: number): void {
    this.#reserve(4)
    this.#view.setInt32(this.length, value, true)
    this.length += 4
  }

  /** A number of 64 bits, with or without a sign. */
  fixed64(value: bigint): void {
    this.#reserve(8)
    this.#view.setBigInt64(this.length, value, true)
    this.length += 8
  }

  float(value: number): void {
    this.#reserve(4)
    this.#view.setFloat32(this.length, value, true)
    this.length += 4
  }

  double(value: number): void {
    this.#reserve(8)
    this.#view.setFloat64(this.length, value, true)
    this.length += 8
  }

  /** A text as UTF-8, behind its length. */
  text(value: string): void {
    const { length } = value
    // A UTF-16 unit takes at most three bytes.
    this.#reserve(VARINT_32 + length * 3)
    if (length <= SHORT && this.#ascii(value)) return
    const start = this.length
    // The length in bytes is that in characters for most texts; if it takes more room, the text moves.
    this.#varint(length)
    const size = utf8.write(this.buffer, value, this.length)
    this.#close(start, this.length, size)
  }

  /** Bytes behind their length. */
  bytes(value: Uint8Array): void {
    this.varint(value.length)
    this.raw(value)
  }

  /** Bytes as they are. */
  raw(value: Uint8Array): void {
    this.#reserve(value.length)
    this.buffer.set(value, this.length)
    this.length += value.length
  }

  /** Begins something that has its length in front. Returns its position, for `join`. */
  fork(): number {
    this.#reserve(1)
    // Most have less than 128 bytes.
    this.length++
    return this.length - 1
  }

  /** Ends what has begun at a position. */
  join(start: number): void {
    const from = start + 1
    const size = this.length - from
    this.#reserve(VARINT_32)
    this.#close(start, from, size)
  }

  /** A copy of what is written. */
  copy(): Uint8Array<ArrayBuffer> {
    return this.buffer.slice(0, this.length)
  }

  /** Writes the length of the bytes at `from` in front of them, at `start`, and moves them to where it ends. */
  #close(start: number, from: number, size: number): void {
    const at = start + sizeOfVarint(size)
    if (at !== from) this.buffer.copyWithin(at, from, from + size)
    this.length = start
    this.#varint(size)
    this.length += size
  }

  /** Writes a short text if it is ASCII. Returns false if it is not; then nothing is written. */
  #ascii(value: string): boolean {
    const { buffer } = this
    const from = this.length + 1
    const { length } = value
    for (let at = 0; at < length; at++) {
      const code = value.charCodeAt(at)
      if (code > 0x7f) return false
      buffer[from + at] = code
    }
    buffer[this.length] = length
    this.length = from + length
    return true
  }

  #varint(value: number): void {
    let rest = value
    while (rest > 0x7f) {
      this.buffer[this.length++] = (rest & 0x7f) | 0x80
      rest >>>= 7
    }
    this.buffer[this.length++] = rest
  }

  #reserve(bytes: number): void {
    const needed = this.length + bytes
    if (needed > this.buffer.length) this.#grow(needed)
  }

  #grow(needed: number): void {
    const larger = new Uint8Array(Math.max(needed, this.buffer.length * 2))
    larger.set(this.buffer.subarray(0, this.length))
    this.buffer = larger
    this.#view = new DataView(larger.buffer)
  }
}

function sizeOfVarint(value: number): number {
  return value < 2 ** 7 ? 1 : value < 2 ** 14 ? 2 : value < 2 ** 21 ? 3 : value < 2 ** 28 ? 4 : 5
}
