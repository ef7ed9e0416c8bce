/**
 * Redis servers as in production: with TLS and a password, watched by a sentinel, and in a cluster, which is refused
 * without the option.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { type RedisOptions, redis } from '@elysia-microservices/redis'
import {
  freePort,
  isMissing,
  Log,
  PATIENCE,
  pause,
  RedisSentinelProcess,
  RedisServerProcess,
  redisMissing,
  until
} from '@elysia-microservices/test-support'
import { OptionError } from '@elysia-microservices/transport'
import { type Message, microservice } from 'elysia-microservices'
import { ConnectionError, connect } from 'elysia-microservices/client'
import { Redis } from 'ioredis'
import { testsFolder } from '../workspace.ts'

const pem = (name: string) => join(testsFolder, 'fixtures/tls', name)

if (!isMissing('Redis servers in production', redisMissing())) {
  describe('over Redis', { timeout: 2 * PATIENCE }, () => {
    const cleanUps: (() => Promise<unknown>)[] = []
    const { logger } = new Log()
    let folder: string

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'redis-'))
    })
    afterEach(async () => {
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
    })
    after(() => rm(folder, { recursive: true }))

    async function start(...args: string[]): Promise<RedisServerProcess> {
      const server = await RedisServerProcess.start(...args)
      cleanUps.push(() => server.stop())
      return server
    }

    /** Starts a replica of a server, waits until it has all data, and connects to it. */
    async function startReplica(main: RedisServerProcess) {
      const { url } = await start('--replicaof', '127.0.0.1', String(main.port))
      const direct = new Redis(url)
      cleanUps.push(async () => direct.disconnect())
      await until('It is a replica', async () => (await direct.info()).includes('master_link_status:up'))
      return { url, direct }
    }

    const seen: unknown[] = []
    async function serve(options: RedisOptions) {
      const service = microservice({ name: 'orders', transport: redis(options), logger })
        .message('orders.total', ({ data }: Message<number[]>) => data.reduce((a, b) => a + b, 0))
        .event('orders.placed', ({ data }) => void seen.push(data), { durable: { ordered: true } })
      await service.listen()
      cleanUps.push(() => service.stop())
      return service
    }
    function newClient(options: RedisOptions) {
      const client = connect({ transport: redis(options), logger, timeout: PATIENCE })
      cleanUps.push(() => client.close())
      return client
    }

    it('rediss:// uses TLS, only with the given certificate authority', async () => {
      const server = await RedisServerProcess.startSecured(
        ...['--tls-cert-file', pem('service.pem'), '--tls-key-file', pem('service.key')],
        ...['--tls-ca-cert-file', pem('authority.pem'), '--tls-auth-clients', 'no']
      )
      cleanUps.push(() => server.stop())
      const { port } = server
      const url = `rediss://localhost:${port}`
      const tls = { ca: readFileSync(pem('authority.pem')) }
      await serve({ url, tls })
      assert.equal(await newClient({ url, tls }).request('orders.total', [1, 2]), 3)
      await assert.rejects(newClient({ url }).connect(), (error: Error) => {
        assert.ok(error instanceof ConnectionError)
        assert.match(error.message, /Cannot reach Redis at localhost:\d+: .*certificate/)
        return true
      })
      const plain = redis({ url: `redis://localhost:${port}`, connectTimeout: 500 })
      const client = connect({ transport: plain, logger })
      cleanUps.push(() => client.close())
      await assert.rejects(client.connect(), ConnectionError)
    })

    it('advice comes with the error of a connection that fails', async () => {
      const nowhere = newClient({ url: `redis://127.0.0.1:${await freePort()}` })
      await assert.rejects(nowhere.connect(), {
        name: 'ConnectionError',
        message: /start redis-server there/
      })
      const { url } = await start('--requirepass', 'secret')
      for (const options of [{ url }, { url, password: 'wrong' }])
        await assert.rejects(newClient(options).connect(), {
          name: 'UnauthenticatedError',
          message: /check username and password/
        })
      await newClient({ url, password: 'secret' }).connect()
    })

    it('a replica that a sentinel makes the master goes on with calls and stored events', async () => {
      seen.length = 0
      const main = await start()
      const { direct } = await startReplica(main)
      const configuration = join(folder, 'sentinel.conf')
      await writeFile(
        configuration,
        `sentinel monitor main 127.0.0.1 ${main.port} 1\nsentinel down-after-milliseconds main 500\nsentinel failover-timeout main 3000\n`
      )
      const sentinel = await RedisSentinelProcess.start(configuration)
      cleanUps.push(() => sentinel.stop())
      const asked = new Redis(sentinel.port)
      cleanUps.push(async () => asked.disconnect())
      await until('It knows the replica', async () => {
        const all = (await asked.call('SENTINEL', 'REPLICAS', 'main')) as unknown[]
        return all.length === 1
      })
      const options: RedisOptions = { url: `redis://127.0.0.1:${sentinel.port}`, sentinelName: 'main' }
      const service = await serve(options)
      const client = newClient(options)
      for (let n = 0; n < 50; n++) await client.publish('orders.placed', n, { key: 'k', id: `id ${n}` })
      await until(
        'The replica has all',
        async () => (await direct.xlen('_elysia:{events}:s:orders.placed')) === 50
      )
      await main.stop()
      const more = Array.from({ length: 50 }, (_, n) =>
        client.publish('orders.placed', 50 + n, { key: 'k', id: `id ${50 + n}` })
      )
      await Promise.all(more)
      await until('All are handled', () => new Set(seen).size === 100)
      assert.deepEqual([...new Set(seen)], [...Array(100).keys()])
      assert.equal(await client.request('orders.total', [1, 2]), 3)
      assert.equal(service.stats()[0]?.unavailable, undefined)
    })

    it('events that are stored together reach subscribers at a replica, too', async () => {
      const main = await start()
      const { direct } = await startReplica(main)
      const heard: unknown[] = []
      direct.on('message', (_channel, text) => heard.push((JSON.parse(text) as { data: unknown }).data))
      await direct.subscribe('orders.placed')
      const client = newClient({ url: main.url })
      const numbers = Array.from({ length: 20 }, (_, n) => n)
      await Promise.all(numbers.map((n) => client.publish('orders.placed', n)))
      await until('All are heard', () => heard.length === numbers.length)
      assert.deepEqual(heard, numbers)
    })

    it('an event without a copy on a replica is not confirmed if options.durable.replicas requires copies', async () => {
      const main = await start()
      const client = newClient({ url: main.url, durable: { replicas: 2 } })
      await assert.rejects(client.publish('orders.placed', 1, { timeout: 1_500 }), (error: Error) => {
        assert.match(error.message, /on 0 of 1 replicas/)
        return true
      })
      // One that is emitted fails, too, and no other call with it.
      const service = microservice({ name: 'shop', transport: redis({ url: main.url }), logger })
        .event('orders.placed', () => {}, { durable: true })
        .message('orders.slow', async () => {
          await pause(2_500)
          return 'done'
        })
      await service.listen()
      try {
        const slow = client.request('orders.slow', 1)
        await assert.rejects(client.emit('orders.placed', 1), { name: 'NotStoredError' })
        assert.equal(await slow, 'done')
      } finally {
        await service.stop()
      }
    })

    it('a node of a cluster is refused with advice', async () => {
      // Without an option, the nodes talk on a port that is 10,000 higher, which a connection of another test may use.
      const bus = ['--cluster-port', String(await freePort())]
      const { url } = await start('--cluster-enabled', 'yes', ...bus, '--dir', folder)
      for (const connects of [() => serve({ url }), () => newClient({ url }).connect()])
        await assert.rejects(connects, (error: Error) => {
          assert.ok(error instanceof OptionError, String(error))
          assert.match(error.message, /is a node of a cluster.*set options.cluster/)
          return true
        })
    })
  })
}
