/**
 * As much of protobuf's encoding as gRPC itself needs, for the few messages that its own fields carry. Messages of users
 * have codecs of their own. https://protobuf.dev/programming-guides/encoding/
 */
import { concatBytes, copyBytes } from '@elysia-microservices/transport/kit'

const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5
/** Most bytes of a number. */
const MOST_BYTES = 10

/** The bytes of a whole number from 0 to 2^53. */
export function varint(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest & 0x7f) | 0x80)
  bytes.push(rest)
  return bytes
}

/** A field with bytes, a text or a message. @param number below 16 */
export function bytesField(number: number, content: Uint8Array): Uint8Array {
  return concatBytes([Uint8Array.of((number << 3) | BYTES, ...varint(content.length)), content])
}

/** A field with a whole number; nothing for 0, which is the default. @param number below 16 */
export function numberField(number: number, value: number): Uint8Array {
  return value === 0 ? new Uint8Array() : Uint8Array.of(number << 3, ...varint(value))
}

/**
 * Reads the fields of a message: those with a number as such, all others as bytes.
 * @param visit returns false to stop
 * @returns false if the bytes are no message, or `visit` has stopped
 */
export function readFields(
  bytes: Uint8Array,
  visit: (number: number, value: number | Uint8Array) => boolean
): boolean {
  let at = 0
  const readNumber = (): number => {
    let value = 0
    for (let count = 0; count < MOST_BYTES && at < bytes.length; count++) {
      const byte = bytes[at++] as number
      value += (byte & 0x7f) * 2 ** (7 * count)
      if (byte < 0x80) return value
    }
    return Number.NaN
  }
  while (at < bytes.length) {
    const tag = readNumber()
    const kind = tag % 8
    const number = Math.floor(tag / 8)
    if (Number.isNaN(tag) || number === 0) return false
    if (kind === VARINT) {
      const value = readNumber()
      if (Number.isNaN(value) || !visit(number, value)) return false
      continue
    }
    const length = kind === BYTES ? readNumber() : kind === FIXED64 ? 8 : kind === FIXED32 ? 4 : Number.NaN
    // The comparison is false for NaN.
    if (!(at + length <= bytes.length)) return false
    const content = copyBytes(bytes, at, at + length)
    at += length
    if (!visit(number, content)) return false
  }
  return true
}
