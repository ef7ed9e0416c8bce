import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { pack, unpack } from './gzip.ts'

describe('a compressed message', () => {
  it('is unpacked, up to a limit', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        assert.deepEqual(new Uint8Array(unpack(pack(bytes), 300) as Uint8Array), bytes)
        if (bytes.length > 1) assert.equal(unpack(pack(bytes), bytes.length - 1), 'too long')
      }),
      { numRuns: runs(100) }
    )
    assert.equal(unpack(pack(new Uint8Array(10_000_000)), 4_194_304), 'too long')
  })

  it('that is none is refused', () => {
    assert.equal(unpack(Uint8Array.of(1, 2, 3), 100), 'not gzip')
    assert.equal(unpack(pack(new Uint8Array(100)).subarray(0, 15), 100), 'not gzip')
  })
})
