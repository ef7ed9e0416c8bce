import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConnectionError, OptionError } from '@elysia-microservices/transport/kit'
import { Code, codesIn, readableError, systemErrorIn } from './errors.ts'

const withCode = (message: string, code: string, more: object = {}) =>
  Object.assign(new Error(message), { code }, more)
const system = withCode('connect ECONNREFUSED 127.0.0.1:1', 'ECONNREFUSED')
const network = withCode('Connection to 127.0.0.1:1 failed.', 'PLT_KFK_NETWORK', { cause: system })

describe('errors of the driver', () => {
  it('have the code of the system, never a code of the driver', () => {
    for (const error of [system, network, withCode('several', 'PLT_KFK_MULTIPLE', { errors: [network] })])
      assert.equal(new ConnectionError('lost', false, systemErrorIn(error)).reason, 'ECONNREFUSED')
    for (const error of [
      withCode('Connection closed', 'PLT_KFK_NETWORK'),
      new Error('late'),
      undefined,
      'text'
    ])
      assert.equal(new ConnectionError('lost', false, systemErrorIn(error)).reason, undefined)
  })

  it('are errors of this library for callers, which say what was attempted and why it failed', () => {
    const read = readableError(network, 'The dead letters cannot be read') as ConnectionError
    assert.ok(read instanceof ConnectionError)
    assert.deepEqual([read.code, read.reason, read.mayHaveRun], ['CONNECTION', 'ECONNREFUSED', true])
    assert.match(read.message, /^The dead letters cannot be read: connect ECONNREFUSED/)
    const forbidden = readableError(
      Object.assign(new Error('no'), { apiCode: Code.topicAuthorization }),
      'It cannot'
    )
    assert.equal((forbidden as ConnectionError).retryable, false)
    assert.deepEqual(codesIn(forbidden), [Code.topicAuthorization])
    const own = new OptionError('group', 'no group')
    assert.equal(readableError(own, 'It'), own)
  })
})
