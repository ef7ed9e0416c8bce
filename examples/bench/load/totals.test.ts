import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { LoadTotals } from './load-run.ts'
import { Meter } from './meter.ts'
import { mergeTotals, shareOf } from './totals.ts'

function totals(latencies: readonly number[], errors = 0): LoadTotals {
  const meter = new Meter()
  meter.start()
  for (const latency of latencies) meter.answers(latency, 1)
  if (errors > 0) meter.failed('why', errors)
  meter.stop()
  return { ...meter.counts(), cpuUs: 10 }
}

describe('totals of several processes', () => {
  it('add up, with the percentiles of all requests', () => {
    const fast = Array.from({ length: 99 }, () => 1)
    const { completed, errors, firstError, cpuUs, latencies } = mergeTotals([totals(fast), totals([500], 2)])
    assert.deepEqual([completed, errors, firstError, cpuUs], [100, 2, 'why', 20])
    assert.deepEqual([latencies.p50, latencies.p99], [1, 1])
    assert.ok(Math.abs(latencies.max! - 500) < 1)
  })

  it('have the length of the longest process', () => {
    const parts = [1, 3, 2].map((seconds) => ({ ...totals([]), seconds }))
    assert.equal(mergeTotals(parts).seconds, 3)
    assert.deepEqual(mergeTotals(parts).latencies, { p50: null, p90: null, p99: null, max: null })
  })

  for (const [total, parts] of [
    [10, 3],
    [2, 2],
    [7, 7],
    [100, 8]
  ] as const) {
    it(`${total} in ${parts} shares add up to ${total}, and the shares are equal to one`, () => {
      const shares = Array.from({ length: parts }, (_, index) => shareOf(total, parts, index))
      assert.equal(
        shares.reduce((sum, share) => sum + share, 0),
        total
      )
      assert.ok(Math.max(...shares) - Math.min(...shares) <= 1)
    })
  }
})

describe('the recent p99', () => {
  it('is that of the answers since the last call', () => {
    const meter = new Meter()
    assert.equal(meter.recentP99(), null)
    meter.start()
    for (let count = 0; count < 1000; count++) meter.answers(9, 1)
    assert.ok(Math.abs(meter.recentP99()! - 9) < 0.1)
    assert.equal(meter.recentP99(), null)
    for (let latency = 1; latency <= 100; latency++) meter.answers(latency, 1)
    assert.ok(Math.abs(meter.recentP99()! - 99) <= 1, 'of 1 to 100')
  })
})
