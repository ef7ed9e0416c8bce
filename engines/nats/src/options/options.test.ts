import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type NatsOptions, natsOptions } from './options.ts'

describe('options of nats()', () => {
  it('always reconnect for ever', () => {
    const { connection, events, where } = natsOptions({
      url: 'nats://me:p%40ss@a:1',
      reconnectTimeWait: 5
    })
    assert.deepEqual([events, where], ['one-process', 'a:1'])
    assert.equal(connection.maxReconnectAttempts, -1)
    assert.equal(connection.reconnectTimeWait, 5)
    const { servers, user, pass, inboxPrefix } = connection
    assert.equal(natsOptions({ url: 'tls://secret@[::1]' }).connection.token, 'secret')
    assert.deepEqual([servers, user, pass, inboxPrefix], [['a:1'], 'me', 'p@ss', '_INBOX'])
  })

  it('keep their defaults where a key is undefined', () => {
    assert.equal(
      natsOptions({ pingInterval: undefined } as unknown as NatsOptions).connection.pingInterval,
      10_000
    )
  })

  for (const [given, message] of [
    [{ server: 'a' }, /did you mean options.servers/],
    [{ url: 'a', servers: 'a' }, /options.servers is another name of options.url/],
    [{ url: [] }, /options.url must be/],
    [{ queue: 'a' }, /give the service the option group/],
    [{ user: 'a' }, /give options.username/],
    [{ maxReconnectAttempts: 3 }, /is not an option/],
    [{ servers: 5 }, /options.servers must be/],
    [{ servers: [''] }, /options.servers must be/],
    [{ group: 'a' }, /options.group is not an option; it is an option of the service/],
    [{ timeout: 5_000 }, /give options.connectTimeout/],
    [{ events: 'some' }, /options.events must be/]
  ] as const)
    it(`refuse ${JSON.stringify(given)}`, () => {
      assert.throws(() => natsOptions(given as unknown as NatsOptions), { name: 'OptionError', message })
    })

  it('are those of the driver where they are given, and otherwise our own defaults', () => {
    const { connection, inboxes, durable } = natsOptions({})
    assert.deepEqual(connection, {
      servers: ['localhost:4222'],
      inboxPrefix: '_INBOX',
      pingInterval: 10_000,
      reconnectJitter: 250,
      reconnectTimeWait: 250,
      timeout: 10_000,
      reconnect: true,
      maxReconnectAttempts: -1,
      waitOnFirstConnect: false,
      ignoreAuthErrorAbort: true,
      noAsyncTraces: true
    })
    assert.deepEqual([inboxes.prefix, durable.storage], ['_INBOX', 'file'])
  })

  it('have credentials and TLS from addresses, unless they are given', () => {
    const of = (given: NatsOptions) => {
      const { servers, user, pass, token, tls } = natsOptions(given).connection
      return [servers, user, pass, token, tls]
    }
    assert.deepEqual(of({ url: 'a' }), [['a:4222'], undefined, undefined, undefined, undefined])
    assert.deepEqual(of({ url: 'me:secret@a:1' }), [['a:1'], 'me', 'secret', undefined, undefined])
    assert.deepEqual(of({ url: ['t@a', 'tls://u:p@b'] }), [
      ['a:4222', 'b:4222'],
      undefined,
      undefined,
      't',
      {}
    ])
    const given = { username: 'you', password: '', token: '', tls: null }
    assert.deepEqual(of({ url: 'tls://me:p@a', ...given }), [['a:4222'], 'you', 'p', undefined, {}])
    assert.deepEqual(of({ url: 't@a', username: '', token: 'own' }).slice(1, 4), [
      undefined,
      undefined,
      'own'
    ])
  })

  for (const given of [
    { maxPingOut: 1 },
    { pingInterval: 1 },
    { reconnectJitter: 0 },
    { reconnectJitterTLS: 0 },
    { reconnectTimeWait: 0 },
    { tls: { ca: 'x' } },
    { authenticator: () => {} },
    { authenticator: [() => {}, () => {}] },
    { inboxPrefix: 'a' },
    { inboxPrefix: 'x'.repeat(64) },
    { replyTo: ['_ANSWERS.orders', 'b'] },
    { replyTo: [] }
  ])
    it(`take ${JSON.stringify(given).slice(0, 60)}`, () => {
      natsOptions(given as unknown as NatsOptions)
    })

  for (const [option, value] of [
    ['maxPingOut', 0],
    ['pingInterval', 0],
    ['reconnectJitter', -1],
    ['reconnectJitterTLS', -1],
    ['reconnectTimeWait', -1],
    ['tls', 'yes'],
    ['authenticator', 'me'],
    ['authenticator', [() => {}, 'me']],
    ['inboxPrefix', ''],
    ['inboxPrefix', 5],
    ['inboxPrefix', 'a.b'],
    ['inboxPrefix', 'x'.repeat(65)],
    ['replyTo', '_ANSWERS'],
    ['replyTo', ['a', 5]],
    ['replyTo', ['_ELYSIA']],
    ['replyTo', ['a.*']],
    ['replyTo', ['a.']]
  ] as const)
    it(`refuse ${option}: ${JSON.stringify(value).slice(0, 60)}`, () => {
      assert.throws(() => natsOptions({ [option]: value } as unknown as NatsOptions), {
        name: 'OptionError',
        path: `options.${option}`
      })
    })
})
