import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { ByteList } from './byte-list.ts'

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 40, size: 'max' }),
  fc.uint8Array({ minLength: 4_000, maxLength: 9_000, size: 'max' })
)

describe('ByteList', () => {
  it('gives back what was added, in order, and is empty then', () => {
    fc.assert(
      fc.property(fc.array(fc.array(bytes, { maxLength: 20, size: 'max' }), { maxLength: 3 }), (rounds) => {
        const list = new ByteList()
        for (const pieces of rounds) {
          for (const piece of pieces) list.add(piece)
          const whole = Buffer.concat(pieces)
          assert.equal(list.length, whole.length)
          assert.deepEqual(Buffer.concat(list.take()), whole)
          assert.equal(list.length, 0)
        }
      }),
      { numRuns: runs(50) }
    )
  })

  it('gives back chunk by chunk, while more is added', () => {
    const steps = fc.array(fc.option(bytes), { maxLength: 40, size: 'max' })
    fc.assert(
      fc.property(steps, (pieces) => {
        const list = new ByteList()
        const out: Uint8Array[] = []
        for (const piece of pieces) {
          if (piece === null) out.push(list.shift() ?? Buffer.alloc(0))
          else list.add(piece)
        }
        for (let chunk = list.shift(); chunk !== undefined; chunk = list.shift()) out.push(chunk)
        assert.deepEqual(Buffer.concat(out), Buffer.concat(pieces.filter((piece) => piece !== null)))
        assert.equal(list.length, 0)
      }),
      { numRuns: runs(50) }
    )
  })

  it('copies what it is given', () => {
    const list = new ByteList()
    for (const piece of [Buffer.alloc(3, 1), Buffer.alloc(9_000, 1)]) {
      list.add(piece)
      piece.fill(2)
    }
    assert.ok(Buffer.concat(list.take()).every((byte) => byte === 1))
  })

  it('keeps single bytes in few chunks, and a single piece in no more than it needs', () => {
    const list = new ByteList()
    for (let n = 0; n < 100_000; n++) list.add(Buffer.of(n))
    assert.ok(list.take().length < 30)
    list.add(Buffer.from('abc'))
    assert.equal(list.take()[0]?.buffer.byteLength, 3)
  })
})
