/** Tests the adaptive limit with simulated services, whose time is calculated and not waited for. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isInCheck } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { AdaptiveConcurrency } from './adaptive-concurrency.ts'

interface Simulation {
  /** Number of requests that the service handles at the same time; other requests wait. */
  readonly workers: number
  /** Mean milliseconds that a worker needs for a request. */
  readonly serviceTime: number
  /** The load, in multiples of the service's capacity. */
  readonly load: number
  readonly milliseconds: number
  readonly limit: AdaptiveConcurrency
  /** Returns the work of a request in multiples of `serviceTime`, for a number from 0 to 1. Default: 0.5 to 1.5. */
  readonly workOf?: (chance: number) => number
  /** Start time in milliseconds, if this simulation follows another. */
  readonly from?: number
}

/** A generator of numbers from 0 to 1 that are the same in each run. */
function chance(): () => number {
  let state = 1
  return () => {
    state = (Math.imul(state, 48_271) >>> 0) % 2_147_483_647
    return state / 2_147_483_647
  }
}

const even = (chance: number) => 0.5 + chance
/** One request in ten takes 41 times as long as the other requests. */
const mixed = (chance: number) => (chance < 0.9 ? 0.2 : 8.2)

/** Makes requests arrive at random, admits as many as the limit allows, and counts them. */
function simulate(simulation: Simulation) {
  const { workers, serviceTime, load, milliseconds, limit, from = 0, workOf = even } = simulation
  const next = chance()
  const meanPause = serviceTime / workers / load
  const free = Array.from({ length: workers }, () => from)
  let running: { readonly began: number; readonly ends: number }[] = []
  let done = 0
  let refused = 0
  let latency = 0
  let soonest = Number.POSITIVE_INFINITY
  for (let now = from; now < from + milliseconds; now += -Math.log(1 - next()) * meanPause) {
    if (now >= soonest) {
      const ended = running.filter(({ ends }) => ends <= now).sort((a, b) => a.ends - b.ends)
      for (const { began, ends } of ended) {
        limit.ended(ends)
        latency += ends - began
        done++
      }
      running = running.filter(({ ends }) => ends > now)
      soonest = Math.min(...running.map(({ ends }) => ends))
    }
    if (running.length >= limit.limit) {
      refused++
      continue
    }
    const worker = free.indexOf(Math.min(...free))
    const ends = Math.max(now, free[worker] as number) + serviceTime * workOf(next())
    free[worker] = ends
    running.push({ began: now, ends })
    soonest = Math.min(soonest, ends)
    limit.began(now)
  }
  // Requests that still run are ended, because another simulation may follow.
  for (const { ends } of running.sort((a, b) => a.ends - b.ends)) limit.ended(ends)
  return { done, refused, meanLatency: latency / done, possible: (workers * milliseconds) / serviceTime }
}

/** Workers, the milliseconds that they need for a request, and the first limit. */
const SERVICES: readonly (readonly [workers: number, serviceTime: number, initial: number])[] = [
  [4, 50, 50],
  ...(isInCheck
    ? []
    : ([
        [20, 10, 50],
        [20, 10, 1_000],
        [100, 20, 4]
      ] as const))
]

describe('an adaptive limit', () => {
  for (const [workers, serviceTime, initial] of SERVICES) {
    const service = `${workers} workers, ${serviceTime} ms, from ${initial}`

    it(`keeps throughput and latency at ten times the load: ${service}`, () => {
      const limit = new AdaptiveConcurrency({ initial, min: 1, max: 1_000 })
      const base = { workers, serviceTime, load: 10, limit }
      simulate({ ...base, milliseconds: 10_000 })
      const settled = simulate({ ...base, milliseconds: 20_000, from: 20_000 })
      assert.ok(settled.done > 0.9 * settled.possible, `${settled.done} of ${settled.possible} done`)
      assert.ok(settled.meanLatency < 3 * serviceTime, `mean latency ${settled.meanLatency} ms`)
      assert.ok(settled.refused > settled.done)
    })

    it(`is not misled where short and long requests come mixed: ${service}`, () => {
      const limit = new AdaptiveConcurrency({ initial, min: 1, max: 1_000 })
      const base = { workers, serviceTime, load: 10, limit, workOf: mixed }
      simulate({ ...base, milliseconds: 10_000 })
      const settled = simulate({ ...base, milliseconds: 20_000, from: 20_000 })
      assert.ok(settled.done > 0.8 * settled.possible, `${settled.done} of ${settled.possible} done`)
      assert.ok(settled.meanLatency < 4 * serviceTime, `mean latency ${settled.meanLatency} ms`)
    })
  }

  it('refuses next to nothing of what the service can do', () => {
    const limit = new AdaptiveConcurrency({ initial: 50, min: 1, max: 1_000 })
    const { done, refused } = simulate({
      workers: 20,
      serviceTime: 10,
      load: 0.5,
      milliseconds: 20_000,
      limit
    })
    assert.ok(refused < done / 100, `${refused} refused, ${done} done`)
  })

  it('follows a service that loses most of its workers, and gets them back', () => {
    const limit = new AdaptiveConcurrency({ initial: 50, min: 1, max: 1_000 })
    const base = { serviceTime: 10, limit, milliseconds: isInCheck ? 8_000 : 20_000 }
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
    for (let running = 0; running < 40; running++) limit.began(0)
    for (let now = 1; now < 10_000; now++) {
      limit.ended(now)
      limit.began(now)
    }
    assert.ok(limit.limit <= 100)
    assert.equal(limit.inFlight, 40)
  })

  it('gives up measuring when there is no load any more, and goes on when there is', () => {
    const limit = new AdaptiveConcurrency({ initial: 20, min: 1, max: 1_000 })
    const base = { workers: 20, serviceTime: 10, limit }
    for (let part = 0; part < (isInCheck ? 15 : 50); part++) {
      simulate({ ...base, load: 10, milliseconds: 137, from: part * 10_000 })
      assert.equal(limit.inFlight, 0)
      // A single request is always admitted.
      assert.ok(limit.limit >= 1)
    }
    const { done, possible } = simulate({
      ...base,
      load: 10,
      milliseconds: isInCheck ? 8_000 : 20_000,
      from: 1_000_000
    })
    assert.ok(done > 0.9 * possible, `${done} of ${possible} done`)
  })

  it('is a whole number within its bounds, whatever it is told [property]', () => {
    const step = fc.record({ begins: fc.boolean(), later: fc.double({ min: 0, max: 1_000, noNaN: true }) })
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.nat(500),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.array(step, { maxLength: 600, size: 'max' }),
        (min, more, between, steps) => {
          const max = min + more
          const limit = new AdaptiveConcurrency({ min, max, initial: Math.floor(min + more * between) })
          let now = 0
          for (const { begins, later } of steps) {
            now += later
            if (begins || limit.inFlight === 0) limit.began(now)
            else limit.ended(now)
            assert.ok(Number.isInteger(limit.limit) && limit.limit >= min && limit.limit <= max)
          }
        }
      ),
      { numRuns: 50 }
    )
  })
})
