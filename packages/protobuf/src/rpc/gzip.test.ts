import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { pack, unpack } from './gzip.ts'

describe('a compressed message', () => {
  it('is unpacked, up to a limit', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        assert.deepEqual(unpack(gzipSync(bytes), 300), bytes)
        if (bytes.length > 1) assert.equal(unpack(gzipSync(bytes), bytes.length - 1), 'too long')
      }),
      { numRuns: runs(100) }
    )
    assert.equal(unpack(gzipSync(new Uint8Array(10_000_000)), 4_194_304), 'too long')
  })

  it('is made only if it is shorter', () => {
    const zeros = new Uint8Array(1_000)
    assert.deepEqual(unpack(pack(zeros)!, 1_000), zeros)
    assert.equal(pack(Uint8Array.of(1, 2, 3)), undefined)
  })

  it('that is none is refused, but for the empty one, which clients do not compress', () => {
    assert.equal(unpack(Uint8Array.of(1, 2, 3), 100), 'not gzip')
    assert.equal(unpack(gzipSync(new Uint8Array(100)).subarray(0, 15), 100), 'not gzip')
    assert.deepEqual(unpack(new Uint8Array(), 100), new Uint8Array())
  })
})
