import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  CanceledError,
  ConnectionError,
  OverloadedError,
  PayloadTooLargeError,
  ProtocolError,
  RejectedError,
  RpcError,
  TimeoutError,
  UnauthenticatedError
} from '@elysia-microservices/transport'
import { ErrorAnswers } from './error-response.ts'

const logger = { error: () => {}, warn: () => {} }

describe('the answer to an error', () => {
  const answers = new ErrorAnswers({ logger, errors: { REJECTED: 429 } })
  const defaults = new ErrorAnswers({ logger })

  for (const [error, status, code] of [
    [new TimeoutError('users.get', 1), 504, 'TIMEOUT'],
    [new CanceledError('users.get'), 499, 'CANCELED'],
    [new ConnectionError('10.0.0.1:4000 is gone', false), 503, 'CONNECTION'],
    [new ConnectionError('10.0.0.1:4000 is gone', true), 502, 'CONNECTION'],
    [new RejectedError('draining', {}), 503, 'REJECTED'],
    [new OverloadedError('limits.sendBuffer allows 5'), 503, 'OVERLOADED'],
    [new PayloadTooLargeError('limits.sendBuffer', 1, 2, 'bytes'), 413, 'PAYLOAD_TOO_LARGE'],
    [new ProtocolError('users.get'), 502, 'PROTOCOL']
  ] as const) {
    it(`${error.name} (${error.message}) is ${status} and tells nothing of the inside`, () => {
      const answer = defaults.of(error, 'GET /')
      assert.deepEqual([answer.status, answer.body.code], [status, code])
      assert.doesNotMatch(JSON.stringify(answer.body), /users\.get|10\.0\.0\.1|draining|sendBuffer/)
    })
  }

  it('has Retry-After only where trying again is safe', () => {
    const retryAfter = (error: unknown) => defaults.of(error, 'GET /').headers['retry-after']
    assert.equal(retryAfter(new RejectedError('draining')), '1')
    assert.equal(retryAfter(new OverloadedError('full')), '1')
    assert.equal(retryAfter(new ConnectionError('gone', false)), '1')
    assert.equal(retryAfter(new ConnectionError('gone', true)), undefined)
    assert.equal(retryAfter(new TimeoutError('x', 1)), undefined)
    // A service that says so has begun with the call, so this is safe only where the call may run twice.
    const unavailable = new RpcError({ code: 'SERVICE_UNAVAILABLE' })
    assert.equal(retryAfter(unavailable), undefined)
    assert.equal(defaults.of(unavailable, 'GET /', true).headers['retry-after'], '1')
    assert.equal(answers.of(new RejectedError('draining'), '').headers['retry-after'], '1')
  })

  it('is that of the service where it does not accept who asks', () => {
    const message = 'The token has expired'
    for (const error of [new UnauthenticatedError(message, { message }), new UnauthenticatedError(message)]) {
      const { status, body } = defaults.of(error, 'GET /')
      assert.deepEqual([status, body], [401, { code: 'UNAUTHENTICATED', message }])
    }
  })

  it('is that of a service out of reach where it does not accept the gateway', () => {
    const received = { code: 'UNAUTHENTICATED', message: 'The credentials are not accepted' }
    const error = new UnauthenticatedError(`tcp://10.0.0.1:4000: ${received.message}`, received)
    const { status, body } = defaults.of(error, 'GET /')
    assert.deepEqual([status, body], [503, { code: 'CONNECTION', message: 'The service cannot be reached' }])
  })

  it('has the status that the application gives to one of our codes', () => {
    assert.equal(answers.of(new RejectedError('draining'), 'GET /').status, 429)
  })

  for (const [received, status, body] of [
    [{ status: 404, message: 'No user' }, 404, { code: 'NOT_FOUND', message: 'No user' }],
    [{ statusCode: 403, message: 'No user' }, 403, { code: 'FORBIDDEN', message: 'No user' }],
    [{ status: 'error', message: 'No user' }, 500, { code: 'UNKNOWN', message: 'No user' }],
    [{ status: 200, message: 'No user' }, 500, { code: 'UNKNOWN', message: 'No user' }],
    ['No user', 500, { code: 'UNKNOWN', message: 'No user' }]
  ] as const) {
    it(`is ${status} for what came as ${JSON.stringify(received)}`, () => {
      const answer = defaults.of(new RpcError({ message: 'No user' }, received), 'GET /')
      assert.deepEqual([answer.status, answer.body], [status, body])
    })
  }

  for (const thrown of [
    undefined,
    null,
    'text',
    5,
    {},
    Object.assign(new Error('secret'), { status: 503 })
  ]) {
    it(`says nothing of ${String(thrown)}`, () => {
      assert.deepEqual(defaults.of(thrown, 'GET /').body, {
        code: 'INTERNAL',
        message: 'Internal server error'
      })
    })
  }
})
