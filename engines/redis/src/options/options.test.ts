import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type RedisOptions, redisOptions } from './options.ts'

describe('options of redis()', () => {
  it('read an address', () => {
    const { connection, where, events } = redisOptions({ url: 'rediss://me:p%40ss@[::1]:7000' })
    const { host, port, username, password, tls } = connection
    assert.deepEqual(
      [host, port, username, password, tls, where, events],
      ['::1', 7000, 'me', 'p@ss', {}, '::1:7000', 'one-process']
    )
  })

  it('have defaults', () => {
    assert.equal(redisOptions({}).where, 'localhost:6379')
    assert.equal(redisOptions({ host: 'a', port: 1, queue: undefined }).where, 'a:1')
  })

  it('give the addresses of sentinels', () => {
    const { where } = redisOptions({ sentinels: [{ host: 'a' }, { port: 7 }], name: 'main' })
    assert.equal(where, "the sentinels of 'main' (a:26379, localhost:7)")
  })

  for (const [given, message] of [
    [{ urls: 'a' }, /did you mean options.url/],
    [{ url: 5 }, /options.url must be/],
    [{ url: 'http://a' }, /options.url must be/],
    [{ url: 'redis://a:1/3' }, /channels have none/],
    [{ port: 0 }, /options.port must be/],
    [{ queue: 'a b' }, /options.queue must be/],
    [{ events: 'some' }, /options.events must be/],
    [{ inboxPrefix: 'a:b' }, /options.inboxPrefix must be/],
    [{ durable: 5 }, /options.durable must be/],
    [{ durable: { replicas: 0 } }, /options.durable.replicas must be/],
    [{ durable: { replicas: 1.5 } }, /options.durable.replicas must be a whole number/],
    [{ host: 5 }, /options.host must be a text/],
    [{ password: ['secret'] }, /options.password must be a text(?!.*secret)/],
    [{ tls: true }, /options.tls must be an object/],
    [{ family: 5 }, /options.family must be 0, 4 or 6/],
    [{ connectTimeout: -1 }, /options.connectTimeout must be/],
    [{ sentinels: [], name: 'a' }, /options.sentinels must be/],
    [{ sentinels: [5], name: 5 }, /options.name must be/],
    [{ sentinels: [{}] }, /options.name must be/],
    [{ sentinels: [{ port: 'x' }], name: 'a' }, /options.sentinels must be/],
    [{ sentinels: [{}], name: 'a', host: 'b' }, /options.host is an address/],
    [{ name: 'a' }, /give options.sentinels, too/],
    [{ cluster: [] }, /options.cluster must be/],
    [{ cluster: [{ host: 'a' }] }, /options.cluster must be/],
    [{ cluster: [{ host: 'a', port: 1 }], url: 'redis://a' }, /options.url stands beside options.cluster/]
  ] as const)
    it(`refuse ${JSON.stringify(given)}`, () => {
      assert.throws(() => redisOptions(given as unknown as RedisOptions), { name: 'OptionError', message })
    })
})
