import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { acceptsGzip, isGzip } from './compression-names.ts'

describe('the compression of a request', () => {
  for (const [name, expected] of [
    [null, false],
    ['', false],
    ['identity', false],
    ['gzip', true]
  ] as const)
    it(`is known: ${name}`, () => assert.equal(isGzip(name), expected))

  it('is refused with the list of those that are supported', () =>
    assert.throws(() => isGzip('br'), {
      code: 'unimplemented',
      message: "The compression 'br' is not supported; supported are gzip, identity"
    }))

  for (const [accepted, expected] of [
    [null, false],
    ['', false],
    ['gzip', true],
    ['br, GZIP;q=0.5', true],
    ['gzip;q=0', false],
    ['gzip;q=0.0, br', false],
    ['deflate', false]
  ] as const)
    it(`of the answer may be gzip: ${accepted} → ${expected}`, () =>
      assert.equal(acceptsGzip(accepted), expected))
})
