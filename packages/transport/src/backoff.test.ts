import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { backoffCeiling, backoffDelay } from './backoff.ts'

const random01 = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

describe('the back-off', () => {
  it('stays between nothing and its bounds, and its ceiling never falls', () => {
    fc.assert(
      fc.property(
        fc.nat(10_000),
        fc.nat(100_000),
        fc.nat(10_000),
        random01,
        (minDelay, more, attempt, random) => {
          const options = { minDelay, maxDelay: minDelay + more }
          const delay = backoffDelay(options, attempt, random)
          assert.ok(delay >= 0 && delay <= options.maxDelay)
          assert.ok(backoffCeiling(options, attempt) <= backoffCeiling(options, attempt + 1))
          assert.ok(backoffCeiling(options, 0) === minDelay)
        }
      )
    )
  })
})
