import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { NatsEvent } from './event.ts'
import { Runs, readRuns, writeRuns } from './runs.ts'

const number = fc.integer({ min: 1, max: 2 ** 40 })
const runs = fc.uniqueArray(fc.tuple(number, fc.integer({ min: 1, max: 100_000 })), {
  selector: ([sequence]) => sequence
})

describe('the deliveries before the first runs of events', () => {
  it('are read as they were written', () => {
    fc.assert(
      fc.property(runs, (all) => {
        assert.deepEqual(new Map(readRuns(writeRuns(new Map(all)))), new Map(all))
      })
    )
  })

  it('leave room for other metadata: the largest numbers are kept', () => {
    const many = new Map(Array.from({ length: 50_000 }, (_, n) => [n + 1, (n % 1_000) + 1]))
    const text = writeRuns(many)
    assert.ok(text.length <= 64 * 1024)
    const kept = readRuns(text).map(([, before]) => before)
    assert.ok(kept.length > 5_000 && Math.min(...kept) > 800)
  })

  it('are stored as they come, all but the one with which an event may begin', async () => {
    const texts: string[] = []
    const runs = new Runs({ isBehind: () => true, store: async (text) => void texts.push(text) })
    const event = {
      hasBegun: false,
      deliveries: 3,
      attempt: 3,
      place: { sequence: 5, deliveries: 3 }
    } as NatsEvent
    runs.came(event)
    await new Promise(setImmediate)
    assert.deepEqual([texts, event.attempt], [['5:2,'], 1])
  })

  it('may be any text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        for (const [sequence, before] of readRuns(text)) assert.ok(sequence >= 0 && before >= 0)
      })
    )
    assert.deepEqual(readRuns(undefined), [])
  })
})
