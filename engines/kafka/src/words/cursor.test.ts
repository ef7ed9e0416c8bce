import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { Cursor } from './record.ts'

/** A number as Kafka writes it, bit by bit: the sign last, seven bits in each byte, and 128 in all but the last. */
function written(value: number): number[] {
  let left = value < 0 ? -2n * BigInt(value) - 1n : 2n * BigInt(value)
  const bytes: number[] = []
  for (; left > 127n; left >>= 7n) bytes.push(Number(left & 127n) | 128)
  return [...bytes, Number(left)]
}

it('a number of any size and sign is read back, and no more bytes than it has', () => {
  const numbers = fc.oneof(
    fc.integer({ min: -130, max: 130 }),
    fc.integer(),
    fc.integer({ min: -(2 ** 51), max: 2 ** 51 })
  )
  fc.assert(
    fc.property(numbers, (value) => {
      const bytes = written(value)
      const cursor = new Cursor(Buffer.from([...bytes, 255]))
      assert.equal(cursor.varint(), value)
      assert.equal(cursor.at, bytes.length)
    })
  )
})
