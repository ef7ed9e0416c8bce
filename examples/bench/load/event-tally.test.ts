import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EventCounter } from '../peers/work.ts'
import { systemTime } from '../process/system-time.ts'
import { EventTally } from './event-tally.ts'

/** The tally of a load whose server reports these totals one after the other, and then the last one for ever. */
async function tally(sent: number, ...totals: (number | undefined)[]) {
  const asked: [from: number, to: number][] = []
  const tally = new EventTally({
    countEvents: async (from, to) => {
      asked.push([from, to])
      const total = totals[Math.min(asked.length, totals.length) - 1]
      return total === undefined ? undefined : { total, measured: 7 }
    }
  })
  tally.measure()
  tally.stop()
  const { seconds, ...handled } = await tally.settle(sent)
  assert.ok(asked.every(([from, to]) => (to - from) / 1000 === seconds))
  return { ...handled, asked: asked.length }
}

describe('a tally of events', () => {
  it('waits until all events have arrived, and then stops asking', async () => {
    assert.deepEqual(await tally(50, 10, 40, 50), { total: 50, measured: 7, asked: 3 })
  })

  it('does not wait for events that do not arrive', async () => {
    const { total } = await tally(50, 10, 41)
    assert.equal(total, 41)
  })

  it('has no result if the server has ended', async () => {
    assert.deepEqual(await tally(50, undefined), { total: 0, measured: 0, asked: 1 })
  })
})

describe('a server that counts its events', () => {
  it('reports how many arrived in a given time, exact to sixteen', async () => {
    const events = new EventCounter(0.001)
    for (let n = 0; n < 100; n++) events.take()
    const middle = systemTime()
    for (let n = 0; n < 1000; n++) events.take()
    assert.equal(events.count, 1100)
    assert.ok(Math.abs(events.between(middle, systemTime() + 1) - 1000) <= 16)
    assert.ok(Math.abs(events.between(0, middle) - 100) <= 16)
    assert.equal(events.between(0, 1), 0)
  })
})
