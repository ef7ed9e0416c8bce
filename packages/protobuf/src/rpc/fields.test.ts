/** Texts of fields: deadlines, messages, statuses, base64. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ANY_CHARACTER, runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { fromBase64, toBase64 } from './base64.ts'
import { CODES, codeOfNumber, GrpcStatus, nameOfStatus, readStatus } from './codes.ts'
import { readPercent, writePercent } from './percent.ts'
import { readTimeout, writeTimeout } from './timeout.ts'

describe('grpc-timeout', () => {
  const written: readonly (readonly [number, string])[] = [
    [1, '1m'],
    [1.5, '1500u'],
    [0.000_01, '1u'],
    [30_000, '30000m'],
    [99_999_999, '99999999m'],
    [100_000_000, '100000S'],
    [1e12, '16666667M'],
    [1e15, '99999999H']
  ]
  for (const [milliseconds, field] of written)
    it(`of ${milliseconds} ms is ${field}`, () => assert.equal(writeTimeout(milliseconds), field))

  it('is read in every unit', () => {
    const read = { '1n': 1e-6, '7u': 0.007, '8m': 8, '3S': 3_000, '2M': 120_000, '1H': 3_600_000, '0m': 0 }
    for (const [field, milliseconds] of Object.entries(read))
      assert.equal(readTimeout(field), milliseconds, field)
  })

  it('is refused when it is none', () => {
    for (const field of ['', 'm', '1', '-1m', '1.5S', '123456789m', '1ms', '1 m', '٣m', '1h'])
      assert.equal(readTimeout(field), undefined, field)
  })

  it('never becomes shorter, and longer by no more than its unit', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.001, max: 1e11, noNaN: true }), (milliseconds) => {
        const read = readTimeout(writeTimeout(milliseconds)) as number
        assert.ok(read >= milliseconds * (1 - 1e-9), `${milliseconds} became ${read}`)
        assert.ok(read <= milliseconds * 1.001 + 1, `${milliseconds} became ${read}`)
      }),
      { numRuns: runs(500) }
    )
  })
})

describe('grpc-message', () => {
  it('is read as it was written, whatever the characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: ANY_CHARACTER }), (text) => {
        const field = writePercent(text, 10_000)
        assert.match(field, /^[\x20-\x7e]*$/)
        // Half a character becomes U+FFFD.
        assert.equal(readPercent(field), Buffer.from(text).toString())
      }),
      { numRuns: runs(500) }
    )
  })

  it('encodes only what must be', () => {
    assert.equal(writePercent('a: b, "c" {d}~', 100), 'a: b, "c" {d}~')
    assert.equal(writePercent('100 % ü\n', 100), '100 %25 %C3%BC%0A')
  })

  it('is cut between two characters', () => {
    assert.equal(writePercent('aüü', 8), 'a%C3%BC')
    assert.equal(writePercent('abc', 2), 'ab')
  })

  it('that is not encoded as it should be is read as far as it is', () => {
    assert.equal(readPercent('50% of %zz %e4%C3%BC'), '50% of %zz \ufffdü')
  })
})

describe('the codes', () => {
  it('have the same numbers in Connect and in gRPC', () => {
    for (const [code, { number }] of Object.entries(CODES)) {
      assert.equal(codeOfNumber(number), code)
      assert.equal(nameOfStatus(number), code === 'canceled' ? 'CANCELLED' : code.toUpperCase())
    }
    assert.equal(Object.keys(CODES).length, Object.keys(GrpcStatus).length - 1)
  })
})

describe('grpc-status', () => {
  it('is read as a number that gRPC has', () => {
    const read = { '0': 0, '5': 5, '16': 16, '17': 2, '-1': 2, '': 2, '05': 2, '1e0': 2, OK: 2 }
    for (const [field, status] of Object.entries(read)) assert.equal(readStatus(field), status, field)
    assert.deepEqual([nameOfStatus(5), nameOfStatus(99)], ['NOT_FOUND', 'UNKNOWN'])
  })
})

describe('base64', () => {
  it('is read as it was written, with and without padding and in both alphabets', () =>
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const written = toBase64(bytes)
        assert.ok(!written.includes('='))
        const padded = written + '='.repeat((4 - (written.length % 4)) % 4)
        const ofUrl = written.replaceAll('+', '-').replaceAll('/', '_')
        for (const given of [written, padded, ofUrl]) assert.deepEqual(fromBase64(given), bytes)
      })
    ))

  for (const given of ['a', 'a b=', 'ab=c', '***', 'abcde', '='.repeat(9)])
    it(`is not ${given}`, () => assert.equal(fromBase64(given), undefined))
})
