import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { plural } from './plural.ts'

describe('a number with its noun', () => {
  it('is grammatical for one, none and many', () => {
    assert.deepEqual(
      [0, 1, 2_000].map((count) => plural(count, 'event')),
      ['0 events', '1 event', '2,000 events']
    )
    assert.deepEqual(
      [plural(1, 'process', 'processes'), plural(2, 'process', 'processes')],
      ['1 process', '2 processes']
    )
  })
})
