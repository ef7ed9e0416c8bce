/**
 * Reads the bytes of messages where they lie. What is rare or wrong it does not judge: it throws `RARE`, and the message is
 * read again by protobuf-es, which knows every case. https://protobuf.dev/programming-guides/encoding/
 */
import { WireType } from '@bufbuild/protobuf/wire'
import { text as utf8 } from '@elysia-microservices/transport/kit'

/** Thrown for bytes that need the reader of protobuf-es. */
export const RARE = new Error('The message has something that is rare, or is wrong')

/** The character for bytes that are no UTF-8. */
const REPLACEMENT = '\uFFFD'

/** The bytes of a number with a point. A view of each message would make the runtime keep its memory in another way. */
const POINT = new Uint8Array(8)
const POINT_VIEW = new DataView(POINT.buffer)

/** Reads one message after the other. */
export class WireReader {
  #buffer: Uint8Array = POINT
  /** The position of the next byte. */
  at = 0
  /** How many messages the present one is in. */
  depth = 0

  /** Begins a message. */
  begin(buffer: Uint8Array): void {
    this.#buffer = buffer
    this.at = 0
    this.depth = 0
  }

  /** The message is read, and is not kept in memory. */
  done(): void {
    this.#buffer = POINT
  }

  /** The tag of a field. Those of 5 bytes are rare. */
  tag(): number {
    const start = this.at
    const tag = this.varint()
    if (this.at - start < 5) return tag
    throw RARE
  }

  /** A number of 32 bits without a sign. Of a longer one the last 32 bits, as protobuf wants it. */
  varint(): number {
    const buffer = this.#buffer
    const first = buffer[this.at++] as number
    if (first < 0x80) return first
    let value = first & 0x7f
    for (let shift = 7; shift < 70; shift += 7) {
      const byte = buffer[this.at++] as number
      if (shift < 32) value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value >>> 0
    }
    throw RARE
  }

  /** A number of 64 bits: a number if it is small, otherwise a bigint. */
  varint64(isUnsigned: boolean): number | bigint {
    const start = this.at
    const low = this.varint()
    // Below 2^28.
    if (this.at - start <= 4) return low
    this.at = start
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#buffer[this.at++] as number
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return isUnsigned ? BigInt.asUintN(64, value) : BigInt.asIntN(64, value)
    }
    throw RARE
  }

  bool(): boolean {
    const byte = this.#buffer[this.at++] as number
    if (byte < 0x80) return byte !== 0
    throw RARE
  }

  sint32(): number {
    const value = this.varint()
    return (value >>> 1) ^ -(value & 1)
  }

  sint64(): number | bigint {
    const value = BigInt(this.varint64(true))
    return (value >> 1n) ^ -(value & 1n)
  }

  fixed32(): number {
    return this.#point(4).getUint32(0, true)
  }

  sfixed32(): number {
    return this.#point(4).getInt32(0, true)
  }

  fixed64(): bigint {
    return this.#point(8).getBigUint64(0, true)
  }

  sfixed64(): bigint {
    return this.#point(8).getBigInt64(0, true)
  }

  float(): number {
    return this.#point(4).getFloat32(0, true)
  }

  double(): number {
    return this.#point(8).getFloat64(0, true)
  }

  /** A text behind its length. It is rare that one has the character for bytes that are no UTF-8. */
  text(): string {
    const end = this.end()
    const start = this.at
    this.at = end
    // Faster than a loop over the characters, also for short texts.
    const read = utf8.read(this.#buffer, start, end)
    if (read.includes(REPLACEMENT)) throw RARE
    return read
  }

  /** Bytes behind their length. They are a part of the message. */
  bytes(): Uint8Array {
    return this.part(this.end())
  }

  /** The bytes up to a position. They are a part of the message. */
  part(end: number): Uint8Array {
    const part = this.#buffer.subarray(this.at, end)
    this.at = end
    return part
  }

  /** Reads the length of something, and returns the position behind it. */
  end(): number {
    const end = this.varint() + this.at
    // The comparison is false also if the length is behind the end.
    if (end <= this.#buffer.length) return end
    throw RARE
  }

  /** Passes over a field that nobody knows. */
  skip(tag: number): void {
    switch (tag & 7) {
      case WireType.Varint:
        this.varint64(true)
        return
      case WireType.Bit64:
        this.at += 8
        return
      case WireType.LengthDelimited:
        this.at = this.end()
        return
      case WireType.Bit32:
        this.at += 4
        return
      default:
        throw RARE
    }
  }

  #point(size: number): DataView {
    const buffer = this.#buffer
    for (let at = 0; at < size; at++) POINT[at] = buffer[this.at + at] as number
    this.at += size
    return POINT_VIEW
  }
}
