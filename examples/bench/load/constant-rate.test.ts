import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConstantRate } from './constant-rate.ts'

describe('a constant rate', () => {
  it('has its requests due in equal steps, the first at once', () => {
    const schedule = new ConstantRate(200, 1000)
    assert.deepEqual([schedule.take(), schedule.take(), schedule.take()], [1000, 1005, 1010])
    assert.equal(schedule.nextAt, 1015)
  })

  for (const [time, due] of [
    [999, 0],
    [1000, 0],
    [1000.1, 1],
    [1005, 1],
    [1005.1, 2],
    [2000, 200]
  ] as const) {
    it(`of 200 has ${due} due before ${time - 1000} ms`, () => {
      assert.equal(new ConstantRate(200, 1000).dueBefore(time), due)
    })
  }

  it('keeps requests that were not taken in time, with the times at which they were due', () => {
    const schedule = new ConstantRate(1000, 0)
    assert.equal(schedule.dueBefore(500), 500)
    for (let taken = 0; taken < 100; taken++) schedule.take()
    assert.equal(schedule.dueBefore(500), 400)
    assert.equal(schedule.take(), 100)
  })

  for (const rate of [3, 7, 999, 50_000, 1_234_567]) {
    it(`of ${rate} does not drift over any number of seconds`, () => {
      for (const seconds of [1, 60, 3600]) {
        assert.equal(new ConstantRate(rate, 17.3).dueBefore(17.3 + seconds * 1000), rate * seconds)
      }
    })
  }
})
