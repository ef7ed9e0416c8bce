import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { errors } from '@nats-io/transport-node'
import { connectFailure } from './failures.ts'

describe('a connection that cannot be opened', () => {
  it('is refused for its credentials, or cannot be reached, with where it was looked for', () => {
    const servers = ['nats://a:1', 'nats://b:2']
    const wrong = new errors.AuthorizationError('Authorization Violation')
    for (const error of [
      wrong,
      new errors.UserAuthenticationExpiredError('expired'),
      new errors.ConnectionError('refused', { cause: wrong })
    ]) {
      const failure = connectFailure({ servers }, error)
      assert.equal(failure.name, 'UnauthenticatedError')
      assert.match(failure.message, /^NATS at nats:\/\/a:1, nats:\/\/b:2 does not accept the credentials/)
    }
    const { name, message } = connectFailure({ servers: ['localhost:7'] }, 'odd')
    assert.deepEqual(
      [name, message.split(';')[0]],
      ['ConnectionError', 'Cannot reach NATS at localhost:7: odd']
    )
  })

  it('has the advice that fits its reason', () => {
    const advice = (text: string, tls?: object) =>
      connectFailure({ tls } as Parameters<typeof connectFailure>[0], new Error(text))
        .message.split('; ')
        .slice(1)
    assert.deepEqual(advice('connection refused'), ['start nats-server there, or check options.url'])
    for (const text of ['self signed certificate', "server does not support 'tls'", "file doesn't exist"])
      assert.deepEqual(advice(text), ['check options.tls and the certificate of the server'])
    assert.match(advice('timeout', {}).join(), /give options\.tls a certFile and a keyFile/)
    assert.deepEqual(advice('timeout', { cert: 'x' }), ['start nats-server there, or check options.url'])
  })
})
