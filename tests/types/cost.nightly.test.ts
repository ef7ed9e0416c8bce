/** The cost of types must grow with the number of patterns, and not with its square. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cost, SHAPES } from './cost.ts'

describe('the types of', () => {
  for (const shape of Object.keys(SHAPES) as (keyof typeof SHAPES)[])
    it(`${shape} cost the compiler less than four times as much for four times the patterns`, {
      timeout: 120_000
    }, async () => {
      // Some of the cost does not depend on the number, so only cost that grows with the square is four times as
      // high.
      const [few, many] = [await cost(shape, 40), await cost(shape, 160)]
      assert.ok(few > 0 && many <= 4 * few, `${few}, ${many}`)
    })
})
