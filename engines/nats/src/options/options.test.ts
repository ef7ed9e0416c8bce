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
})
