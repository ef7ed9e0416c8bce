import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Meter } from './meter.ts'

describe('a meter', () => {
  it('leaves out requests that complete before or after measuring', () => {
    const meter = new Meter()
    meter.answers(1000, 1)
    meter.start()
    meter.answers(2, 3)
    meter.stop()
    meter.answers(1000, 1)
    assert.equal(meter.completed, 3)
    assert.equal(meter.answered, 5)
    assert.deepEqual(meter.latencies(), { p50: 2, p90: 2, p99: 2, max: 2 })
  })

  it('gives percentiles in milliseconds, exact to three digits', () => {
    const meter = new Meter()
    meter.start()
    for (let latency = 1; latency <= 1000; latency++) meter.answers(latency / 100, 1)
    meter.stop()
    const { p50, p90, p99, max } = meter.latencies()
    for (const [actual, expected] of [
      [p50, 5],
      [p90, 9],
      [p99, 9.9],
      [max, 10]
    ] as const) {
      assert.ok(Math.abs(actual! - expected) <= expected / 1000, `${actual} is not about ${expected}`)
    }
  })

  it('takes latencies beyond ten minutes', () => {
    const meter = new Meter()
    meter.start()
    meter.answers(3_600_000, 1)
    assert.ok(meter.latencies().max! >= 3_600_000)
  })

  it('has no latencies if nothing was completed', () => {
    assert.deepEqual(new Meter().latencies(), { p50: null, p90: null, p99: null, max: null })
  })

  it('counts errors whenever they happen and keeps the first reason', () => {
    const meter = new Meter()
    meter.failed(new Error('first'))
    meter.start()
    meter.failed({ status: 'error' }, 2)
    meter.stop()
    meter.failed('last')
    assert.equal(meter.errors, 4)
    assert.equal(meter.firstError, 'first')
  })

  it('describes a reason that is not an Error', () => {
    const meter = new Meter()
    meter.failed({ status: 'error' })
    assert.equal(meter.firstError, '{"status":"error"}')
  })
})
