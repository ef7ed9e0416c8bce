import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readableError } from './jetstream-errors.ts'

describe('readableError', () => {
  it('says which version an old server should be updated to, and that a retry does not help', () => {
    const error = readableError(new Error("'metadata' requires server 2.10.0"), "The group 'shop'")
    assert.match(error.message, /^The group 'shop': .*update nats-server to 2\.10\.0 or later$/)
    assert.equal((error as { retryable?: boolean }).retryable, false)
  })
})
