/** The adaptive limit against simulated services: time is counted, not waited for. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { AdaptiveConcurrency } from './adaptive-concurrency.ts'

interface Simulation {
  /** Requests the service works on at the same time; the others wait their turn. */
  readonly workers: number
  /** Mean milliseconds a worker needs for a request. */
  readonly serviceTime: number
  /** What is asked, in multiples of what the service can do. */
  readonly load: number
  readonly milliseconds: number
  readonly limit: AdaptiveConcurrency
  /** Milliseconds since the beginning of time, where simulations follow each other. */
  readonly from?: number
}

/** Numbers from 0 to 1 that are always the same. */
function chance(): () => number {
  let state = 1
  return () => {
    state = (Math.imul(state, 48_271) >>> 0) % 2_147_483_647
    return state / 2_147_483_647
  }
}

/** Lets requests come at random, admits as many as the limit allows, and counts. */
function simulate({ workers, serviceTime, load, milliseconds, limit, from = 0 }: Simulation) {
  const next = chance()
  const meanPause = serviceTime / workers / load
  const free = Array.from({ length: workers }, () => from)
  let running: { readonly began: number; readonly ends: number }[] = []
  let done = 0
  let refused = 0
  let latency = 0
  for (let now = from; now < from + milliseconds; now += -Math.log(1 - next()) * meanPause) {
    const ended = running.filter(({ ends }) => ends <= now).sort((a, b) => a.ends - b.ends)
    if (ended.length > 0) {
      let inFlight = running.length
      for (const { began, ends } of ended) {
        limit.ended(ends - began, inFlight--, ends)
        latency += ends - began
        done++
      }
      running = running.filter(({ ends }) => ends > now)
    }
    if (running.length >= limit.limit) {
      refused++
      continue
    }
    const worker = free.indexOf(Math.min(...free))
    const ends = Math.max(now, free[worker] as number) + serviceTime * (0.5 + next())
    free[worker] = ends
    running.push({ began: now, ends })
  }
  return { done, refused, meanLatency: latency / done, possible: (workers * milliseconds) / serviceTime }
}

describe('an adaptive limit', () => {
  for (const [workers, serviceTime, initial] of [
    [20, 10, 50],
    [20, 10, 1_000],
    [4, 50, 50],
    [100, 20, 4]
  ] as const) {
    it(`keeps throughput and latency at ten times the load: ${workers} workers, ${serviceTime} ms, from ${initial}`, () => {
      const limit = new AdaptiveConcurrency({ initial, min: 4, max: 1_000 })
      const base = { workers, serviceTime, load: 10, limit }
      simulate({ ...base, milliseconds: 10_000 })
      const settled = simulate({ ...base, milliseconds: 60_000, from: 20_000 })
      assert.ok(settled.done > 0.9 * settled.possible, `${settled.done} of ${settled.possible} done`)
      assert.ok(settled.meanLatency < 3 * serviceTime, `mean latency ${settled.meanLatency} ms`)
      assert.ok(settled.refused > settled.done)
    })
  }

  it('refuses next to nothing of what the service can do', () => {
    const limit = new AdaptiveConcurrency({ initial: 50, min: 4, max: 1_000 })
    const { done, refused } = simulate({
      workers: 20,
      serviceTime: 10,
      load: 0.5,
      milliseconds: 60_000,
      limit
    })
    assert.ok(refused < done / 100, `${refused} refused, ${done} done`)
  })

  it('follows a service that loses most of its workers, and gets them back', () => {
    const limit = new AdaptiveConcurrency({ initial: 50, min: 4, max: 1_000 })
    const base = { serviceTime: 10, limit, milliseconds: 60_000 }
    simulate({ ...base, workers: 40, load: 3 })
    const before = limit.limit
    const less = simulate({ ...base, workers: 8, load: 15, from: 100_000 })
    assert.ok(limit.limit < before, `${before}, then ${limit.limit}`)
    assert.ok(less.done > 0.8 * less.possible)
    simulate({ ...base, workers: 40, load: 3, from: 200_000 })
    const again = simulate({ ...base, workers: 40, load: 3, from: 300_000 })
    assert.ok(again.done > 0.85 * again.possible, `${again.done} of ${again.possible} done`)
  })

  it('does not grow while nobody comes near it', () => {
    const limit = new AdaptiveConcurrency({ initial: 100, min: 1, max: 1_000 })
    for (let now = 0; now < 10_000; now++) limit.ended(5, 40, now)
    assert.equal(limit.limit <= 100, true)
  })

  it('is a whole number within its bounds, whatever it is told [property]', () => {
    const ended = fc.record({
      latency: fc.double({ min: 0, max: 1e7, noNaN: true }),
      inFlight: fc.nat(5_000),
      later: fc.double({ min: 0, max: 1_000, noNaN: true })
    })
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.nat(500),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.array(ended, { maxLength: 2_000, size: 'max' }),
        (min, more, between, all) => {
          const max = min + more
          const limit = new AdaptiveConcurrency({ min, max, initial: Math.floor(min + more * between) })
          let now = 0
          for (const { latency, inFlight, later } of all) {
            now += later
            limit.ended(latency, inFlight, now)
            assert.ok(Number.isInteger(limit.limit) && limit.limit >= min && limit.limit <= max)
          }
        }
      ),
      { numRuns: 50 }
    )
  })
})
