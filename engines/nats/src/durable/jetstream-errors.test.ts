import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OptionError } from '@elysia-microservices/transport/kit'
import { errors } from '@nats-io/transport-node'
import { refusal } from '../testing/fake-streams.ts'
import { isForbidden, isMissing, isNoSequence, isOff, readableError } from './jetstream-errors.ts'

describe('readableError', () => {
  it('says which version an old server should be updated to, and that a retry does not help', () => {
    const error = readableError(new Error("'metadata' requires server 2.10.0"), "The group 'shop'")
    assert.match(error.message, /^The group 'shop': .*update nats-server to 2\.10\.0 or later$/)
    assert.equal((error as { retryable?: boolean }).retryable, false)
  })

  it('says in the words of the server what it refuses, and whether trying again can help', () => {
    for (const [code, retryable] of [
      [400, false],
      [429, true],
      [499, false],
      [500, true],
      [503, true]
    ] as const) {
      const error = readableError(refusal(code, 7, 'not so'), 'It')
      assert.deepEqual([error.name, error.message], ['NotStoredError', "It: NATS says 'not so' (7)"])
      assert.equal((error as { retryable?: boolean }).retryable, retryable, `${code}`)
    }
    assert.match(
      readableError(refusal(500, 7, 'maximum bytes exceeded'), 'It').message,
      /\(7\); the stream is full/
    )
  })

  it('says that JetStream is off or not ready, which may pass', () => {
    for (const error of [
      refusal(503, 10_039, 'JetStream not enabled for account'),
      new Error('jetstream is not enabled'),
      new Error('503'),
      new errors.NoRespondersError('$JS.API.INFO')
    ]) {
      const readable = readableError(error, 'It')
      assert.match(readable.message, /^It: JetStream, which stores events, is off or not ready yet/)
      assert.deepEqual(
        [readable.name, (readable as { retryable?: boolean }).retryable],
        ['NotStoredError', true]
      )
    }
    assert.match(readableError(refusal(400, 1, 'not enabled here'), 'It').message, /NATS says/)
  })

  it('says that nobody answers, and leaves our own errors as they are', () => {
    const silent = readableError(new Error('timeout'), 'It')
    assert.deepEqual(
      [silent.name, silent.message, (silent as { mayHaveRun?: boolean }).mayHaveRun],
      ['ConnectionError', 'It: JetStream does not answer (timeout)', false]
    )
    const own = new OptionError('a', 'mine')
    assert.equal(readableError(own, 'It'), own)
  })
})

describe('an error of JetStream', () => {
  it('says that something is missing, has no such number, is forbidden or off', () => {
    const kinds = (error: unknown) =>
      [isMissing, isNoSequence, isForbidden, isOff]
        .map((is) => is(error))
        .map(Number)
        .join('')
    assert.equal(kinds(refusal(404, 10_014, 'consumer not found')), '1000')
    assert.equal(kinds(refusal(400, 10_043, 'no message found')), '0100')
    const forbidden = new errors.PermissionViolationError('no', 'publish', 'x')
    assert.equal(kinds(forbidden), '0010')
    assert.equal(kinds(new Error('no', { cause: forbidden })), '0010')
    assert.equal(kinds(new Error('jetstream is not enabled')), '0001')
    for (const other of [new Error('timeout'), { code: 404 }, undefined]) assert.equal(kinds(other), '0000')
  })
})
