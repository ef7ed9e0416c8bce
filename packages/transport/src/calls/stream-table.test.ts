import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { StreamTable } from './stream-table.ts'

class Entry {
  sequence = 0
}

describe('StreamTable', () => {
  it('behaves as a Map of numbers that are given in turn', () => {
    const operation = fc.oneof(
      { weight: 3, arbitrary: fc.constant('add' as const) },
      { weight: 2, arbitrary: fc.nat({ max: 500 }) }
    )
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 400 }), fc.constantFrom(50, 1_000), (operations, max) => {
        const table = new StreamTable<Entry>(max)
        const model = new Map<number, Entry>()
        let last = 0
        for (const what of operations) {
          if (what === 'add') {
            if (model.size === max) continue
            const entry = new Entry()
            table.add(entry)
            do last = last === max ? 1 : last + 1
            while (model.has(last))
            assert.equal(entry.sequence, last)
            model.set(last, entry)
          } else {
            const entry = [...model.values()][what % (model.size || 1)]
            if (entry === undefined) continue
            assert.equal(table.delete(entry), true)
            assert.equal(table.delete(entry), false)
            model.delete(entry.sequence)
          }
          assert.equal(table.size, model.size)
        }
        for (let sequence = 0; sequence <= max; sequence++)
          assert.equal(table.get(sequence), model.get(sequence))
        assert.deepEqual(
          table.all(),
          [...model.values()].sort((a, b) => a.sequence - b.sequence)
        )
      })
    )
  })

  it('gives the number of a call that is taken back to the next', () => {
    const table = new StreamTable<Entry>(100)
    const [first, second] = [new Entry(), new Entry()]
    table.add(first)
    table.takeBack(first)
    table.add(second)
    assert.equal(second.sequence, 1)
  })
})
