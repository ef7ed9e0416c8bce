/** The fields of protobuf that are bytes, which are all that reflection needs. https://protobuf.dev/programming-guides/encoding/ */
import { ProtocolError } from '@elysia-microservices/transport/kit'

const BYTES = 2
/** Bytes of the wire types that have a fixed size. */
const SIZES: Readonly<Record<number, number>> = { 1: 8, 5: 4 }
const LONGEST_NUMBER = 10

/** Writes a field with bytes. */
export function bytesField(field: number, value: Uint8Array): Uint8Array {
  return Buffer.concat([number((field << 3) | BYTES), number(value.length), value])
}

/** The fields with bytes of a message; others are skipped. @throws {ProtocolError} these bytes are no message */
export function* fieldsOf(bytes: Uint8Array): Generator<readonly [field: number, value: Uint8Array], void> {
  let at = 0
  const next = () => {
    let value = 0
    for (let place = 0; place < LONGEST_NUMBER; place++) {
      const byte = bytes[at++]
      if (byte === undefined) break
      value += (byte & 0x7f) * 2 ** (7 * place)
      if (byte < 0x80) return value
    }
    throw new ProtocolError('The answer of the reflection cannot be read')
  }
  while (at < bytes.length) {
    const tag = next()
    const type = tag % 8
    if (type === 0) {
      next()
      continue
    }
    const size = type === BYTES ? next() : SIZES[type]
    if (size === undefined || at + size > bytes.length)
      throw new ProtocolError('The answer of the reflection cannot be read')
    if (type === BYTES) yield [Math.floor(tag / 8), bytes.subarray(at, at + size)]
    at += size
  }
}

function number(value: number): Uint8Array {
  const bytes: number[] = []
  let left = value
  for (; left > 0x7f; left = Math.floor(left / 128)) bytes.push((left % 128) | 0x80)
  return Uint8Array.of(...bytes, left)
}
