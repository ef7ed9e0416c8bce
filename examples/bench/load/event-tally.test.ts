import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EventTally } from './event-tally.ts'

/** A server that says one count after the other, a second of its clock apart, and then the last for ever. */
function saying(...counts: (number | undefined)[]) {
  let asked = 0
  return {
    countEvents: async () => {
      const count = counts[Math.min(asked, counts.length - 1)]
      return count === undefined ? undefined : { count, at: 1_000 * asked++ }
    }
  }
}

async function tally(sent: number, ...counts: (number | undefined)[]) {
  const tally = new EventTally(saying(...counts))
  tally.measure()
  tally.stop()
  return tally.settle(sent)
}

describe('a tally of events', () => {
  it('has those of the measured time by the clock of the server, and all', async () => {
    assert.deepEqual(await tally(50, 10, 40, 45, 50), { measured: 30, seconds: 1, total: 50 })
  })

  it('does not wait for what does not come', async () => {
    assert.deepEqual(await tally(50, 10, 40, 41), { measured: 30, seconds: 1, total: 41 })
  })

  it('asks no more when all have come', async () => {
    assert.deepEqual(await tally(40, 10, 40, undefined), { measured: 30, seconds: 1, total: 40 })
  })

  it('knows nothing of a server that is gone', async () => {
    assert.deepEqual(await tally(50, undefined), { measured: 0, seconds: 0, total: 0 })
  })
})
