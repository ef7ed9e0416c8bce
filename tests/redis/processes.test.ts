/**
 * Several processes of a service over Redis, and a server that is lost: the errors of callers, and which process
 * receives what.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { type RedisOptions, redis } from '@elysia-microservices/redis'
import { aborted, freePort, isMissing, Log, until } from '@elysia-microservices/test-support'
import { type Message, microservice } from 'elysia-microservices'
import {
  ConnectionError,
  connect,
  UnauthenticatedError,
  type UntypedClient
} from 'elysia-microservices/client'
import { Redis } from 'ioredis'
import { RedisServerProcess, redisMissing } from '../support/redis-server.ts'

if (!isMissing('processes over Redis', redisMissing())) {
  describe('over Redis', () => {
    let server: RedisServerProcess
    const cleanUps: (() => Promise<unknown>)[] = []
    const log = new Log()
    const quiet = { error() {}, warn() {} }
    const events: string[] = []

    before(async () => {
      server = await RedisServerProcess.start()
    })
    after(() => server.stop())
    afterEach(async () => {
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
      events.length = 0
      log.clear()
    })

    function newClient(options: RedisOptions = {}): UntypedClient {
      const client = connect({ transport: redis({ url: server.url, ...options }), logger: quiet })
      cleanUps.push(() => client.close())
      return client
    }

    async function serve(id: string, options: RedisOptions = {}, name = 'orders') {
      const service = microservice({
        name,
        transport: redis({ url: server.url, ...options }),
        logger: log.logger,
        drain: 200
      })
        .message('who', () => id)
        .message('slow', async ({ signal }: Message) => {
          events.push(`began ${id}`)
          await aborted(signal)
          events.push(`canceled ${id}`)
        })
        .event('told', ({ data }) => void events.push(`${id} ${data}`))
      await service.listen()
      cleanUps.push(() => service.stop())
      return service
    }

    const askMany = async (client: UntypedClient, count: number) => {
      const answers = await Promise.all(Array.from({ length: count }, () => client.request('who')))
      return Object.fromEntries(['a', 'b', 'c'].map((id) => [id, answers.filter((one) => one === id).length]))
    }

    it('the processes of a service share its requests, each of which runs once', async () => {
      await serve('a')
      await serve('b')
      const client = newClient()
      for (let turn = 0; turn < 10; turn++) await client.request('who')
      const { a = 0, b = 0 } = await askMany(client, 200)
      assert.equal(a + b, 200)
      assert.ok(a > 40 && b > 40, `${a} and ${b}`)
    })

    it('one process of each service gets an event, or all processes if the option says so', async () => {
      await serve('a')
      await serve('b')
      await serve('x', {}, 'audit')
      const client = newClient()
      for (let turn = 0; turn < 4; turn++) await client.emit('told', turn)
      await until('8 events', () => events.length >= 8)
      await serve('c', { events: 'every-process' }, 'cache')
      await serve('d', { events: 'every-process' }, 'cache')
      await client.emit('told', 4)
      await until('12 events', () => events.length >= 12)
      const of = (ids: string) =>
        events.filter((one) => ids.includes(one.charAt(0))).map((one) => one.slice(2))
      assert.deepEqual(of('ab'), ['0', '1', '2', '3', '4'])
      assert.deepEqual(of('x'), ['0', '1', '2', '3', '4'])
      assert.deepEqual(of('cd'), ['4', '4'])
    })

    it('no request fails while one process after the other is replaced', async () => {
      let last = await serve('a')
      const client = newClient()
      let isOver = false
      let answered = 0
      const callers = Array.from({ length: 8 }, async () => {
        while (!isOver) {
          await client.request('who')
          answered++
        }
      })
      for (const id of ['b', 'c', 'a', 'b']) {
        const next = await serve(id)
        await last.stop()
        last = next
        const before = answered
        await until('more answers', () => answered > before + 50)
      }
      isOver = true
      await Promise.all(callers)
    })

    it('a caller that gives up cancels what it has asked for', async () => {
      await serve('a')
      const client = newClient()
      await client.connect()
      await assert.rejects(client.request('slow', 0, { timeout: 1_000 }), { code: 'TIMEOUT' })
      await until('2 events', () => events.length >= 2)
      assert.deepEqual(events, ['began a', 'canceled a'])
    })

    it('reconnects to the server after it was killed, with all subscriptions', async () => {
      await serve('a')
      const client = newClient()
      assert.equal(await client.request('who'), 'a')
      const pending = client.request('slow')
      await until('1 events', () => events.length >= 1)
      const lost = assert.rejects(pending, (error) => {
        assert.ok(error instanceof ConnectionError)
        assert.equal(error.mayHaveRun, true)
        return true
      })
      await server.stop()
      await lost
      await log.has('gets no messages')
      const waiting = client.request('who')
      await server.start()
      assert.equal(await waiting, 'a')
      await log.has('again')
      await client.emit('told', 'here')
      await until('the event', () => events.includes('a here'))
    })

    it('does not publish where strangers want: requests with another reply address are dropped, and broken frames are logged', async () => {
      await serve('a')
      const stranger = new Redis(server.url)
      cleanUps.push(async () => stranger.disconnect())
      const heard: string[] = []
      stranger.on('error', () => {})
      const victim = new Redis(server.url)
      cleanUps.push(async () => victim.disconnect())
      victim.on('message', (_channel, text) => heard.push(text))
      await victim.subscribe('victim')
      const channels = (await stranger.pubsub('CHANNELS', '_elysia:s:*')) as string[]
      const who = channels.find((channel) => channel.endsWith(':who')) as string
      for (const reply of ['victim', '_elysia:n:victim', '_elysia:everyone'])
        await stranger.publish(who, `who\n${reply}\n\n{"pattern":"who","id":"1"}`)
      await stranger.publish(who, 'no frame')
      await log.has('could not be handled')
      assert.equal(await newClient().request('who'), 'a')
      assert.deepEqual(heard, [])
    })

    it('gives advice if a connection fails', async () => {
      const nowhere = newClient({ url: `redis://127.0.0.1:${await freePort()}` })
      await assert.rejects(nowhere.connect(), {
        name: 'ConnectionError',
        message: /start redis-server there/
      })
      const guarded = await RedisServerProcess.start('--requirepass', 'secret')
      cleanUps.push(() => guarded.stop())
      for (const options of [{ url: guarded.url }, { url: guarded.url, password: 'wrong' }])
        await assert.rejects(newClient(options).connect(), (error) => {
          assert.ok(error instanceof UnauthenticatedError, String(error))
          assert.match(error.message, /check username and password/)
          return true
        })
      const welcome = newClient({ url: guarded.url, password: 'secret' })
      await welcome.connect()
    })

    it('handlers of all patterns do not hide that nobody answers a request, and Nest may answer it', async () => {
      const service = microservice({ name: 'listener', transport: redis({ url: server.url }), logger: quiet })
        .event('>', () => {})
        .event('orders.*', () => {})
      await service.listen()
      cleanUps.push(() => service.stop())
      const client = newClient()
      await assert.rejects(client.request('orders.unknown', 1), { code: 'PATTERN_NOT_FOUND' })
      const nest = new Redis(server.url)
      cleanUps.push(async () => nest.disconnect())
      await nest.subscribe('orders.nest')
      const talks = new Redis(server.url)
      cleanUps.push(async () => talks.disconnect())
      nest.on('message', (_, packet) => {
        const { id } = JSON.parse(packet)
        void talks.publish('orders.nest.reply', JSON.stringify({ response: 'here', isDisposed: true, id }))
      })
      assert.equal(await client.request('orders.nest', 1), 'here')
    })

    it('a client is subscribed to the answers of Nest only as long as calls need it', async () => {
      const bare = new Redis(server.url)
      const nest = new Redis(server.url)
      cleanUps.push(async () => {
        bare.disconnect()
        nest.disconnect()
      })
      await nest.subscribe('silent')
      const client = newClient()
      const aborter = new AbortController()
      const call = client.request('silent', 1, { signal: aborter.signal })
      const heard = () => bare.pubsub('CHANNELS', 'silent.reply')
      await until('It is heard', async () => (await heard()).length === 1)
      aborter.abort()
      await assert.rejects(call, { code: 'CANCELED' })
      await until('It is not heard any more', async () => (await heard()).length === 0)
    })

    it('processes announce that they start and stop, so that clients need not list all processes again', async () => {
      await serve('a')
      const clients = Array.from({ length: 3 }, () => newClient())
      for (const client of clients) assert.equal(await client.request('who', 0), 'a')
      const bare = new Redis(server.url)
      cleanUps.push(async () => bare.disconnect())
      const listed = async () =>
        /cmdstat_pubsub\|channels:calls=(\d+)/.exec(await bare.info('commandstats'))?.[1]
      const before = await listed()
      const second = await serve('b')
      for (const client of clients)
        await until('It is known', async () => (await client.request('who', 0)) === 'b')
      await second.stop()
      for (const client of clients) assert.equal(await client.request('who', 0), 'a')
      assert.equal(await listed(), before)
    })
  })
}
