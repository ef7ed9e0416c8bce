import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LONGEST_TIME } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { connectTimeout, grpcTimeout } from './timeout.ts'

describe('the deadline of a call', () => {
  for (const [header, milliseconds] of [
    [null, undefined],
    ['0', 0],
    ['250', 250],
    ['0000000250', 250],
    ['9999999999', LONGEST_TIME]
  ] as const)
    it(`in Connect: ${header}`, () => assert.equal(connectTimeout(header), milliseconds))

  for (const header of ['', ' 1', '-1', '1.5', '1e3', '12345678901', '١'])
    it(`in Connect is no time: '${header}'`, () =>
      assert.throws(() => connectTimeout(header), {
        code: 'invalid_argument',
        message: 'The header connect-timeout-ms must be at most 10 digits'
      }))

  for (const [header, milliseconds] of [
    [null, undefined],
    ['1H', 3_600_000],
    ['2M', 120_000],
    ['3S', 3_000],
    ['4m', 4],
    ['5000u', 5],
    ['1n', 1],
    ['0S', 0],
    ['99999999H', LONGEST_TIME]
  ] as const)
    it(`in gRPC: ${header}`, () => assert.equal(grpcTimeout(header), milliseconds))

  for (const header of ['', '1', 'S', '1s', '123456789S', '-1S', '1 S', '1SS'])
    it(`in gRPC is no time: '${header}'`, () =>
      assert.throws(() => grpcTimeout(header), { code: 'invalid_argument' }))

  it('is a time or a failure, whatever the header says', () =>
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 12 }), (header) => {
        for (const read of [connectTimeout, grpcTimeout])
          try {
            const time = read(header) as number
            assert.ok(Number.isInteger(time) && time >= 0 && time <= LONGEST_TIME)
          } catch (error) {
            assert.equal((error as { code?: unknown }).code, 'invalid_argument')
          }
      })
    ))
})
