import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import fc from 'fast-check'
import type { NatsEvent } from './event.ts'
import { Runs, readRuns, writeRuns } from './runs.ts'

const number = fc.integer({ min: 1, max: 2 ** 40 })
const runs = fc.uniqueArray(fc.tuple(number, fc.integer({ min: -100_000, max: 100_000 })), {
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

  const delivered = (sequence: number, deliveries: number, more: Partial<NatsEvent> = {}) =>
    ({
      hasBegun: false,
      deliveries,
      attempt: deliveries,
      place: { sequence, deliveries },
      ...more
    }) as NatsEvent
  /** The runs of a handler, and what they have stored. */
  const storing = (isBehind = () => true) => {
    const texts: string[] = []
    const runs = new Runs({ isBehind, store: async (text) => void texts.push(text) })
    return { texts, runs }
  }

  it('are stored once in a turn, and again when others come', async () => {
    const { texts, runs } = storing()
    const later = mock.method(globalThis, 'setImmediate')
    runs.came(delivered(5, 3))
    runs.came(delivered(6, 2))
    const turns = later.mock.callCount()
    later.mock.restore()
    await new Promise(setImmediate)
    assert.deepEqual([texts, turns], [['5:2,6:1,'], 1])
    runs.came(delivered(7, 2))
    await new Promise(setImmediate)
    assert.deepEqual(texts.slice(1), ['5:2,6:1,7:1,'])
  })

  it('are stored again after the server did not store them', async () => {
    const texts: string[] = []
    let fails = true
    const runs = new Runs({
      isBehind: () => true,
      store: async (text) => {
        texts.push(text)
        if (fails) throw new Error('no')
      }
    })
    const event = delivered(5, 3)
    runs.came(event)
    await new Promise(setImmediate)
    fails = false
    await runs.begins(event)
    assert.deepEqual(texts, ['5:2,', '5:2,'])
  })

  it('are taken off the attempts of an event whose earlier deliveries were no runs', () => {
    const { runs } = storing(() => false)
    runs.load('5:2,6:1,', 5)
    const [done, other, first, more] = [delivered(5, 4), delivered(6, 4), delivered(7, 1), delivered(8, 3)]
    for (const event of [done, other, first, more]) runs.came(event)
    // Up to number 5 all is done: a note of it is old.
    assert.deepEqual(
      [done, other, first, more].map(({ attempt }) => attempt),
      [4, 3, 1, 3]
    )
    runs.done(other)
    const again = delivered(6, 5)
    runs.came(again)
    assert.equal(again.attempt, 5)
  })

  it('leave an event an attempt, however many were noted', () => {
    const { runs } = storing(() => false)
    runs.load('6:9,', 0)
    const event = delivered(6, 4)
    runs.came(event)
    assert.equal(event.attempt, 1)
  })

  it('are stored before an event begins that was delivered again while it waited, and need not be otherwise', async () => {
    const { texts, runs } = storing()
    const event = delivered(5, 3)
    runs.came(event)
    await new Promise(setImmediate)
    assert.equal(runs.begins(event), undefined)
    assert.equal(runs.begins(event), undefined, 'a second run')
    const other = delivered(6, 2)
    runs.came(other)
    await new Promise(setImmediate)
    other.deliveries = 4
    await runs.begins(other)
    assert.deepEqual(texts, ['5:2,', '5:2,6:1,', '6:3,5:2,'])
  })

  it('of events that a process leaves without having begun them are stored, and of no others', async () => {
    const { texts, runs } = storing()
    await runs.leave([delivered(4, 2, { hasBegun: true })])
    assert.deepEqual(texts, [])
    // The second run of an event that another process has begun once.
    await runs.leave([
      delivered(4, 2, { hasBegun: true }),
      delivered(5, 2, { attempt: 2 }),
      delivered(6, 1, { attempt: 1 })
    ])
    assert.deepEqual(texts, ['5:1,6:1,'])
    await runs.leave([delivered(6, 1, { attempt: 1 })])
    assert.equal(texts.length, 1, 'all of this is stored')
  })

  it('are fewer than none if an event has run several times after one delivery: the next process counts on', async () => {
    const { texts, runs } = storing()
    await runs.leave([delivered(4, 1, { hasBegun: true, attempt: 3 })])
    assert.deepEqual(texts, ['4:-2,'])
    const next = storing(() => false).runs
    next.load(texts[0], 3)
    const event = delivered(4, 2)
    next.came(event)
    assert.equal(event.attempt, 4)
  })

  it('of an event that goes to another process stay as they were stored', async () => {
    const { texts, runs } = storing()
    runs.came(delivered(5, 3))
    runs.left(delivered(5, 3))
    await new Promise(setImmediate)
    assert.deepEqual(texts, [])
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
        for (const [sequence, before] of readRuns(text)) assert.ok(sequence >= 0 && Number.isInteger(before))
      })
    )
    assert.deepEqual(readRuns(undefined), [])
  })
})
