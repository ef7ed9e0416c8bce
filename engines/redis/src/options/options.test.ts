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
    assert.equal(redisOptions({ host: 'a', port: 1, family: undefined }).where, 'a:1')
  })

  it('give the addresses of sentinels', () => {
    const { where } = redisOptions({ url: ['redis://a', 'redis://localhost:7'], sentinelName: 'main' })
    assert.equal(where, "the sentinels of 'main' (a:26379, localhost:7)")
    const { cluster, connection } = redisOptions({ url: ['redis://:p@a', 'redis://:p@b:7'], cluster: true })
    assert.deepEqual(
      [cluster, connection],
      [
        [
          { host: 'a', port: 6379 },
          { host: 'b', port: 7 }
        ],
        { password: 'p', connectTimeout: 10_000 }
      ]
    )
  })

  for (const [given, message] of [
    [{ url: 5 }, /options.url must be/],
    [{ url: 'http://a' }, /options.url must be/],
    [{ url: 'redis://a:1/3' }, /channels have none/],
    [{ port: 0 }, /options.port must be/],
    [{ group: 'a' }, /options.group is not an option; it is an option of the service/],
    [{ queue: 'a' }, /options.queue is not an option; give the service the option group/],
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
    [{ url: [] }, /options.url must be/],
    [{ url: ['redis://a', 'redis://b'] }, /several addresses.*options.cluster.*options.sentinelName/],
    [{ url: 'redis://a', port: 1 }, /options.port says where the server is, as options.url does/],
    [{ sentinels: [{}] }, /give the addresses of sentinels as options.url/],
    [{ name: 'a' }, /options.sentinelName.*options.clientName/],
    [{ sentinelName: '' }, /options.sentinelName must be/],
    [{ sentinelName: 'a' }, /give the addresses of the sentinels as options.url/],
    [{ sentinelName: 'a', url: 'redis://:secret@b' }, /options.sentinelPassword(?!.*secret@)/],
    [{ sentinelName: 'a', url: 'redis://b', cluster: true }, /options.cluster cannot be combined/],
    [{ cluster: [{ host: 'a', port: 1 }] }, /options.cluster must be a boolean/],
    [{ cluster: true, path: '/a' }, /it has no cluster/],
    [{ cluster: true, url: ['redis://a', 'rediss://b'] }, /the same protocol, user and password/],
    [{ urls: ['redis://a'] }, /did you mean options.url/]
  ] as const)
    it(`refuse ${JSON.stringify(given)}`, () => {
      assert.throws(() => redisOptions(given as unknown as RedisOptions), { name: 'OptionError', message })
    })
})
