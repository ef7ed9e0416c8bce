import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type NatsOptions, natsOptions } from './options.ts'

describe('options of nats()', () => {
  it('always reconnect for ever', () => {
    const { connection, events, queue } = natsOptions({ servers: 'nats://a:1', reconnectTimeWait: 5 })
    assert.deepEqual([events, queue], ['one-process', undefined])
    assert.equal(connection.maxReconnectAttempts, -1)
    assert.equal(connection.reconnectTimeWait, 5)
    assert.equal(connection.servers, 'nats://a:1')
  })

  it('keep their defaults where a key is undefined', () => {
    assert.equal(
      natsOptions({ pingInterval: undefined } as unknown as NatsOptions).connection.pingInterval,
      10_000
    )
  })

  for (const [given, message] of [
    [{ server: 'a' }, /did you mean options.servers/],
    [{ maxReconnectAttempts: 3 }, /is not an option/],
    [{ servers: 5 }, /options.servers must be/],
    [{ servers: [''] }, /options.servers must be/],
    [{ queue: 'a b' }, /options.queue must be/],
    [{ queue: '' }, /options.queue must be/],
    [{ timeout: 5_000 }, /did you mean options.connectTimeout/],
    [{ events: 'some' }, /options.events must be/]
  ] as const)
    it(`refuse ${JSON.stringify(given)}`, () => {
      assert.throws(() => natsOptions(given as unknown as NatsOptions), { name: 'OptionError', message })
    })
})
