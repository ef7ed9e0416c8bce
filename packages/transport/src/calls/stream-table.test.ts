import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { SlotTable, StreamTable } from './stream-table.ts'

class Entry {
  sequence = 0
}

describe('SlotTable', () => {
  it('behaves as a Map of numbers that others choose, however these lie', () => {
    const number = fc.oneof(
      fc.nat({ max: 40 }),
      fc.integer({ min: 1, max: 2 ** 30 }),
      fc.nat(30).map((n) => n * 1_024)
    )
    const operation = fc.record({ isDelete: fc.boolean(), number })
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 400, size: 'max' }), (operations) => {
        const table = new SlotTable<Entry>()
        const model = new Map<number, Entry>()
        for (const { isDelete, number } of operations) {
          const entry = model.get(number)
          assert.equal(table.get(number), entry)
          if (entry === undefined && !isDelete) {
            const added = { sequence: number }
            table.put(added)
            model.set(number, added)
          } else if (entry !== undefined && isDelete) {
            assert.equal(table.delete(entry), true)
            assert.equal(table.delete(entry), false)
            model.delete(number)
          }
          assert.equal(table.size, model.size)
        }
        assert.deepEqual(
          table.all(),
          [...model.values()].sort((a, b) => a.sequence - b.sequence)
        )
        for (const [number, entry] of model) assert.equal(table.get(number), entry)
      })
    )
  })
})

describe('StreamTable', () => {
  it('behaves as a Map of numbers that are given in turn', () => {
    const operation = fc.oneof(
      { weight: 3, arbitrary: fc.constant('add' as const) },
      { weight: 2, arbitrary: fc.nat({ max: 500 }) }
    )
    fc.assert(
      fc.property(
        fc.array(operation, { maxLength: 400, size: 'max' }),
        fc.constantFrom(50, 1_000),
        (operations, max) => {
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
        }
      )
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
