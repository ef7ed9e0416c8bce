import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { pack, unpack } from './gzip.ts'
import { bytesField } from './protobuf.ts'
import { readValue, writeValue } from './value.ts'

describe('a value of JSON', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (given) => {
        // JSON has no -0.
        const value = JSON.parse(JSON.stringify(given))
        assert.deepEqual(readValue(writeValue(value) as Uint8Array), { value })
      }),
      { numRuns: runs(500) }
    )
  })

  it('is what others write', () => {
    // Of Python’s protobuf: {'a': [1.0, True, None]} as google.protobuf.Value.
    const bytes = Buffer.from('2a1c0a1a0a0161121532130a0911000000000000f03f0a0220010a020800', 'hex')
    assert.deepEqual(readValue(bytes), { value: { a: [1, true, null] } })
    assert.deepEqual(
      Buffer.from(writeValue({ a: [1, true, null] }) as Uint8Array).toString('hex'),
      bytes.toString('hex')
    )
  })

  it('is refused when it is nested without end', () => {
    let value: unknown = 1
    for (let depth = 0; depth < 70; depth++) value = [value]
    assert.equal(writeValue(value), undefined)
    const nested = (levels: number) => {
      let bytes = writeValue(0) as Uint8Array
      for (let depth = 0; depth < levels; depth++) bytes = bytesField(6, bytesField(1, bytes))
      return readValue(bytes)
    }
    assert.deepEqual(nested(3), { value: [[[0]]] })
    assert.equal(nested(70), undefined)
  })

  it('is read or refused, whatever comes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        const read = readValue(bytes)
        assert.ok(read === undefined || 'value' in read)
      }),
      { numRuns: runs(2_000) }
    )
  })
})

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
