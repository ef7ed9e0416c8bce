import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { HandlerFigures } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { percentile, rowsBetween } from './rows.ts'

const BOUNDS = [0.001, 0.01, 0.1]
const figures = (pattern: string, outcomes: Record<string, number>, counts: number[]): HandlerFigures => ({
  kind: 'message',
  pattern,
  inFlight: 2,
  outcomes,
  durations: { bounds: BOUNDS, counts }
})

describe('percentile', () => {
  it('lies in the bucket that has the message of that rank', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(50), { minLength: 4, maxLength: 4 }),
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        (counts, share) => {
          const ms = percentile(counts, BOUNDS, share)
          const all = counts.reduce((a, b) => a + b, 0)
          if (all === 0) return assert.equal(ms, undefined)
          let bucket = 0
          for (let below = counts[0]!; below < all * share; below += counts[bucket]!) bucket++
          const [low, high] = [BOUNDS[bucket - 1] ?? 0, BOUNDS[bucket] ?? BOUNDS.at(-1)!]
          const slack = 1e-9
          assert.ok(ms! >= low * 1_000 - slack && ms! <= high * 1_000 + slack, `${ms} of ${counts}`)
        }
      )
    )
  })
})

describe('rowsBetween', () => {
  it('counts what came since, a second, and puts the busiest first', () => {
    const before = [figures('a', { OK: 10, NO: 1 }, [11, 0, 0, 0])]
    const now = [
      figures('a', { OK: 14, NO: 3, CANCELED: 2 }, [11, 8, 0, 0]),
      figures('b', { OK: 100 }, [100, 0, 0, 0])
    ]
    const [b, a] = rowsBetween(before, now, 2)
    assert.deepEqual([b?.pattern, b?.rate, b?.errors], ['b', 50, 0])
    assert.deepEqual([a?.pattern, a?.rate, a?.errors, a?.inFlight], ['a', 4, 1, 2])
    assert.ok(a!.p50! > 1 && a!.p50! < 10)
  })

  it('counts from zero where the process has restarted', () => {
    const before = [figures('a', { OK: 100 }, [100, 0, 0, 0])]
    const [a] = rowsBetween(before, [figures('a', { OK: 3, NO: 1 }, [2, 2, 0, 0])], 2)
    assert.deepEqual([a?.rate, a?.errors], [2, 0.5])
    assert.ok(a!.p99! > 1 && a!.p99! < 10)
  })
})
