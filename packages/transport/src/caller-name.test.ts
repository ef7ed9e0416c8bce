import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ANY_CHARACTER } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { readCallerName } from './caller-name.ts'

describe('readCallerName', () => {
  it('gives short text without control characters, of anything', () => {
    assert.equal(readCallerName('orders'), 'orders')
    assert.equal(readCallerName('a\u0000\nb'), 'ab')
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.string({ unit: ANY_CHARACTER, maxLength: 300 })), (given) => {
        const name = readCallerName(given)
        assert.ok(name === undefined || (name.length > 0 && name.length <= 100))
        // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for control characters
        assert.doesNotMatch(name ?? '', /[\u0000-\u001f]/)
      })
    )
  })
})
