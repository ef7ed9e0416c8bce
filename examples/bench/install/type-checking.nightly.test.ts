import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { measureTypeChecking, PATTERNS } from './type-checking.ts'

/**
 * The most types that the compiler may instantiate for a service with 200 patterns and its client, and for 500
 * patterns.
 */
const BOUNDS = [400_000, 1_300_000]

describe('a large service', () => {
  it('and its client compile within the limits of instantiations', async () => {
    const all = await measureTypeChecking()
    assert.deepEqual(
      all.map(({ patterns }) => patterns),
      PATTERNS
    )
    for (const [index, { patterns, instantiations, seconds }] of all.entries()) {
      assert.ok(instantiations > patterns && instantiations <= BOUNDS[index]!, `${instantiations}`)
      assert.ok(seconds > 0)
    }
  })
})
