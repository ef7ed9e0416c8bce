/** Held values are taken in the order in which they were added, and unchanged, however many are taken at a time. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { EMPTY_SIZE, HeldValues } from './held-values.ts'

const steps = fc.array(
  fc.oneof(
    fc.record({ add: fc.oneof(fc.string(), fc.constant('x'.repeat(40_000))) }),
    fc.record({ take: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constant(Number.POSITIVE_INFINITY)) }),
    fc.record({ fails: fc.string() })
  )
)

describe('held values', () => {
  it('are a queue of bytes, which what could not be written is no part of [property]', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const held = new HeldValues()
        const waiting: string[] = []
        /** Values that were taken must not change later: they are compared again at the end. */
        const taken: [bytes: Uint8Array, text: string][] = []
        for (const step of all) {
          if ('add' in step) {
            held.add((out) => out.utf8(step.add))
            waiting.push(Buffer.from(step.add).toString())
          } else if ('fails' in step) {
            const write = () =>
              held.add((out) => {
                out.utf8(step.fails)
                throw new Error('half of it is written')
              })
            assert.throws(write, /half/)
          } else if (!held.isEmpty) {
            const { bytes, count } = held.take(step.take)
            assert.ok(count >= 1 && count <= step.take)
            taken.push([bytes, waiting.splice(0, count).join('')])
          }
          assert.equal(held.isEmpty, waiting.length === 0)
          const empty = waiting.filter((text) => text === '').length
          assert.equal(held.size, Buffer.byteLength(waiting.join('')) + empty * EMPTY_SIZE)
        }
        for (const [bytes, text] of taken) assert.equal(Buffer.from(bytes).toString(), text)
      })
    )
  })
})
