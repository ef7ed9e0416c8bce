import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { nextTime } from './cron.ts'

describe('a cron expression', () => {
  it('keeps the time of the day when clocks are changed: a time that is missing comes when they are, one that comes twice counts once', async () => {
    const days = async (cron: string, from: string, count: number) => {
      const times: string[] = []
      for (let at = new Date(from); times.length < count; ) {
        at = (await nextTime({ cron, timeZone: 'Europe/Berlin' }, at)) as Date
        times.push(at.toISOString().slice(0, 16))
      }
      return times
    }
    assert.deepEqual(await days('30 2 * * *', '2026-03-28T00:00:00Z', 3), [
      '2026-03-28T01:30',
      '2026-03-29T01:00',
      '2026-03-30T00:30'
    ])
    assert.deepEqual(await days('30 2 * * *', '2026-10-24T00:00:00Z', 3), [
      '2026-10-24T00:30',
      '2026-10-25T00:30',
      '2026-10-26T01:30'
    ])
    assert.deepEqual(await days('0 6 * * *', '2026-10-24T12:00:00Z', 2), [
      '2026-10-25T05:00',
      '2026-10-26T05:00'
    ])
  })
})
