/** Tests the adaptive limit window by window, under constant load. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ADAPTIVE_DEFAULTS, AdaptiveConcurrency, type ConcurrencyBounds } from './adaptive-concurrency.ts'

/** A limit whose requests all take equally long. */
class Steady {
  now = 0
  readonly limit: AdaptiveConcurrency

  constructor(bounds: Partial<ConcurrencyBounds> = {}) {
    this.limit = new AdaptiveConcurrency({ initial: 64, min: 1, max: 1_000, ...bounds })
  }

  /**
   * Keeps `count` requests in flight, each of `latency` milliseconds, until `ends` of them have ended; each is followed
   * by a new request.
   */
  hold(count: number, latency: number, ends = 100): void {
    while (this.limit.inFlight < count) this.limit.began(this.now)
    while (this.limit.inFlight > count) this.limit.ended(this.now)
    for (let end = 0; end < ends; end++) {
      this.now += latency / count
      this.limit.ended(this.now)
      this.limit.began(this.now)
    }
  }

  /** Ends all requests in flight, and then measures a baseline. */
  measure(latency: number): void {
    while (this.limit.inFlight > 0) this.limit.ended(this.now)
    this.hold(16, latency)
  }

  /** Counts the windows until the limit is reduced for a measurement. */
  untilProbe(): number {
    const { limit } = this.limit
    for (let windows = 1; ; windows++) {
      this.hold(64, 64)
      if (this.limit.limit < limit / 2) return windows
    }
  }
}

describe('the bounds of an adaptive limit', () => {
  it('are those that are documented, if none are given', () => {
    assert.deepEqual(ADAPTIVE_DEFAULTS, { initial: 50, min: 1, max: 1_000 })
  })
})

describe('a window of an adaptive limit', () => {
  it('ends after 100 requests that took 100 ms', () => {
    for (const [latency, ends] of [
      [64, 100],
      [32, 200],
      [128, 100]
    ] as const) {
      const steady = new Steady()
      steady.hold(64, latency, ends - 1)
      assert.equal(steady.limit.baseline, undefined)
      steady.hold(64, latency, 1)
      assert.equal(steady.limit.baseline, latency)
    }
  })

  it('ends after a second if 10 requests have ended', () => {
    for (const [latency, ends] of [
      [1_000, 10],
      [1_250, 10],
      [990, 11]
    ] as const) {
      const steady = new Steady({ initial: 10 })
      steady.hold(10, latency, ends - 1)
      assert.equal(steady.limit.baseline, undefined)
      steady.hold(10, latency, 1)
      assert.equal(steady.limit.baseline, latency)
    }
  })

  it('begins with the first request, however late that comes', () => {
    const steady = new Steady()
    steady.now = 1_000_000
    steady.hold(64, 64, 99)
    assert.equal(steady.limit.baseline, undefined)
    steady.hold(64, 64, 1)
    assert.equal(steady.limit.baseline, 64)
  })

  it('has a latency of 1 ms at least', () => {
    const steady = new Steady()
    steady.hold(1, 0.5, 200)
    assert.equal(steady.limit.baseline, 1)
  })

  it('lets the limit grow by its root if that was nearly reached', () => {
    for (const [count, expected] of [
      [45, 57],
      [44, 50]
    ] as const) {
      const steady = new Steady({ initial: 50 })
      steady.hold(count, 2 * count)
      assert.equal(steady.limit.limit, expected)
    }
    // Nine tenths of the limit rounded down: 51.3 of 57, while the limit is 57.07.
    const steady = new Steady({ initial: 50 })
    steady.hold(50, 100)
    steady.hold(51, 102)
    assert.equal(steady.limit.limit, 57)
    const bounded = new Steady({ initial: 64, max: 66 })
    bounded.hold(64, 64)
    assert.equal(bounded.limit.limit, 66)
  })

  for (const [latency, expected, min] of [
    [128, 80, 1],
    [160, 57, 1],
    [256, 36, 1],
    [1_024, 36, 1],
    [256, 40, 40]
  ] as const) {
    it(`makes ${expected} of 72 when requests take ${latency} ms in the place of 64, if ${min} is the least`, () => {
      const steady = new Steady({ min })
      steady.hold(64, 64)
      assert.equal(steady.limit.limit, 72)
      steady.hold(latency, latency)
      assert.equal(steady.limit.limit, expected)
    })
  }

  it('is a measurement of the baseline under a quarter of the load', () => {
    for (const [count, expected] of [
      [16, 24],
      [17, 17]
    ] as const) {
      const steady = new Steady()
      steady.hold(count, count)
      assert.equal(steady.limit.baseline, count)
      steady.hold(count, 2 * count, 100)
      assert.equal(steady.limit.baseline, expected)
      assert.equal(steady.limit.limit, 64)
    }
  })
})

describe('a measurement of an adaptive limit', () => {
  const bounds = { initial: 64, max: 64 }

  it('lowers the limit to a quarter until a baseline is measured', () => {
    const steady = new Steady(bounds)
    assert.equal(steady.untilProbe(), 3)
    assert.equal(steady.limit.limit, 16)
    steady.measure(64)
    assert.equal(steady.limit.limit, 64)
  })

  it('waits until as many have ended as were in flight when few enough were', () => {
    const steady = new Steady(bounds)
    steady.untilProbe()
    // Requests that end before are not measured: these 15 requests took much longer.
    steady.hold(16, 16_000, 15)
    steady.hold(16, 16, 1)
    steady.hold(16, 16, 99)
    assert.equal(steady.limit.limit, 16)
    steady.hold(16, 16, 1)
    assert.deepEqual([steady.limit.limit, steady.limit.baseline], [64, 16])
  })

  it('comes less and less often while it finds nothing new, and often again when it does', () => {
    const steady = new Steady(bounds)
    for (const pause of [3, 6, 12, 24, 48, 80, 80]) {
      assert.equal(steady.untilProbe(), pause)
      steady.measure(64)
    }
    steady.untilProbe()
    steady.measure(44)
    assert.equal(steady.limit.baseline, 54)
    for (const pause of [3, 6]) {
      assert.equal(steady.untilProbe(), pause)
      steady.measure(54)
    }
  })

  for (const [before, latency, expected] of [
    [0, 32, 48],
    [0, 24, 24],
    [0, 16, 16],
    [3, 16, 16],
    [4, 16, 40],
    [0, 128, 96]
  ] as const) {
    it(`makes a baseline of ${expected} of ${latency} ms, 64 before, after ${before} that found 64`, () => {
      const steady = new Steady(bounds)
      for (let time = 0; time < before; time++) {
        steady.untilProbe()
        steady.measure(64)
      }
      steady.untilProbe()
      steady.measure(latency)
      assert.equal(steady.limit.baseline, expected)
    })
  }
})
