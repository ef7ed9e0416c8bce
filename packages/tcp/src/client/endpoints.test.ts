/** Tests a client with several endpoints, over real sockets. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { RecordingLogger, TestDispatcher, Told } from '@elysia-microservices/rsocket/testing'
import type { TcpClientOptions } from '../options/client-options.ts'
import type { TcpServer } from '../server/server.ts'
import { DnsServer } from '../testing/dns-server.ts'
import { newClient, newServer } from '../testing/ends.ts'
import type { TcpClient } from './client.ts'

const logger = new RecordingLogger()

/** Records the data of all requests. */
class CountingDispatcher extends TestDispatcher {
  readonly asked: unknown[] = []

  override request(message: Parameters<TestDispatcher['request']>[0]): unknown {
    this.asked.push(message.data)
    return super.request(message)
  }
}

/** A server that the test can stop and start again. */
class Replica {
  readonly dispatcher = new CountingDispatcher()
  port = 0
  #server: TcpServer | undefined

  async start(): Promise<void> {
    this.#server = newServer({ host: '127.0.0.1', port: this.port }, logger)
    await this.#server.start(this.dispatcher)
    this.port = this.#server.address!.port
  }

  async stop(drain: number): Promise<void> {
    await this.#server?.stop({ drain })
  }

  get endpoint(): string {
    return `127.0.0.1:${this.port}`
  }

  get connections(): number {
    return this.#server?.stats().connections.current ?? 0
  }
}

describe('a client with several endpoints', () => {
  let replicas: Replica[]
  let told: Told
  const cleanups: (() => Promise<void>)[] = []

  beforeEach(async () => {
    replicas = [new Replica(), new Replica(), new Replica()]
    for (const replica of replicas) {
      await replica.start()
      cleanups.push(() => replica.stop(0))
    }
  })
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  })

  const endpoints = () => replicas.map(({ endpoint }) => endpoint)

  function connectTo(options: TcpClientOptions = {}): TcpClient {
    told = new Told()
    const all = {
      url: endpoints(),
      reconnect: { minDelay: 5, maxDelay: 50 },
      ...options
    }
    const client = newClient(all, logger)
    told.by(client)
    cleanups.push(() => client.close())
    return client
  }

  const connectedTo = (client: TcpClient, count: number) =>
    told.until(client, () => told.named('connected').length >= count)

  it('uses all of them', async () => {
    const client = connectTo()
    assert.equal(await client.request('echo', 'first'), 'first')
    await connectedTo(client, 3)
    for (let n = 0; n < 30; n++) await Promise.all([1, 2, 3].map((m) => client.request('later', m)))
    for (const { dispatcher } of replicas) assert.ok(dispatcher.asked.length > 5)
    for (let n = 0; n < 10; n++) await client.emit('event', n)
    assert.equal(await client.request('echo', 'last'), 'last')
  })

  it('has as many connections to each as it is told to, and uses them all', async () => {
    const peers = new Set<number | undefined>()
    const replica = replicas[0]!
    const answer = replica.dispatcher.request.bind(replica.dispatcher)
    replica.dispatcher.request = (message) => {
      peers.add(message.peer?.port)
      return answer(message)
    }
    const client = connectTo({ url: undefined, port: replica.port, connections: 4 })
    await client.connect()
    await connectedTo(client, 4)
    assert.equal(replica.connections, 4)
    while (peers.size < 4) await Promise.all([1, 2, 3].map((n) => client.request('later', n)))
    peers.clear()
    for (let n = 0; n < 20; n++) await client.request('echo', n, { key: 'user-1' })
    assert.equal(peers.size, 1)
  })

  it('refuses numbers of connections that are none', () => {
    for (const connections of [0, 1.5, -1, 1_025, 'two' as unknown as number]) {
      assert.throws(() => connectTo({ connections }), {
        name: 'OptionError',
        message: /^options\.connections must be a whole number from 1 to 1024, but is /
      })
    }
  })

  it('sends the calls of a key to one of them', async () => {
    const client = connectTo()
    await client.connect()
    await connectedTo(client, 3)
    for (let n = 0; n < 30; n++) await client.request('echo', n, { key: `user-${n % 3}` })
    for (const { dispatcher } of replicas) {
      const users = new Set(dispatcher.asked.map((n) => (n as number) % 3))
      for (const user of users) {
        assert.equal(dispatcher.asked.filter((n) => (n as number) % 3 === user).length, 10)
      }
    }
  })

  it('goes on with those that are there, and takes back the one that returns', async () => {
    await replicas[1]!.stop(0)
    const client = connectTo()
    await client.connect()
    await connectedTo(client, 2)
    for (let n = 0; n < 50; n++) assert.equal(await client.request('echo', n), n)
    await replicas[1]!.start()
    await connectedTo(client, 3)
    while (replicas[1]!.dispatcher.asked.length === 0) assert.equal(await client.request('echo', 0), 0)
    assert.equal(client.status, 'connected')
  })

  it('fails the first calls when nobody is there, and says that they never left', async () => {
    for (const replica of replicas) await replica.stop(0)
    const client = connectTo({ retry: { minDelay: 1 } })
    await assert.rejects(client.request('echo', 1), { name: 'ConnectionError', mayHaveRun: false })
    await assert.rejects(client.connect(), { name: 'ConnectionError', mayHaveRun: false })
    assert.equal(client.status, 'disconnected')
    await replicas[2]!.start()
    assert.equal(await client.request('echo', 2), 2)
  })

  it('ejects an endpoint that does not answer, and makes its calls no slower for it', async () => {
    const deaf = replicas[0]!.dispatcher
    deaf.request = () => new Promise(() => {})
    const client = connectTo({ eject: { failures: 3, minDelay: 60_000, maxDelay: 60_000 } })
    await client.connect()
    await connectedTo(client, 3)
    const ejected = () => told.named('ejected').length > 0
    while (!ejected()) await client.request('echo', 1, { timeout: 10 }).catch(() => {})
    const event = told.named('ejected')[0]!
    assert.equal('endpoint' in event && event.endpoint, replicas[0]!.endpoint)
    for (let n = 0; n < 100; n++) assert.equal(await client.request('echo', n), n)
  })

  it('loses no request while its servers are restarted, one after the other, under load', async () => {
    const client = connectTo()
    await client.connect()
    await connectedTo(client, 3)
    let running = true
    let answered = 0
    const failures: unknown[] = []
    const callers = Array.from({ length: 20 }, async (_, caller) => {
      for (let n = 0; running; n++) {
        const data = `${caller}-${n}`
        await client.request('later', data).then(
          (value) => (value === data ? answered++ : failures.push(value)),
          (error: unknown) => failures.push(error)
        )
        await new Promise((resolve) => setImmediate(resolve))
      }
    })
    for (let round = 0; round < 2; round++) {
      for (const replica of replicas) {
        await replica.stop(10_000)
        const count = told.named('connected').length
        await replica.start()
        await connectedTo(client, count + 1)
      }
    }
    running = false
    await Promise.all(callers)
    assert.deepEqual(failures, [])
    assert.ok(answered > 100, `${answered} answered`)
  })

  it('calls others as soon as a server begins to stop, and still gets the answers of that one', async () => {
    const client = connectTo({ retry: false })
    await client.connect()
    await connectedTo(client, 3)
    const [stopping] = replicas as [Replica]
    const begun = Promise.all(
      replicas.map(({ dispatcher }) => new Promise<void>((resolve) => (dispatcher.began = () => resolve())))
    )
    const calls = Array.from({ length: 30 }, (_, n) => client.request('wait', n))
    await begun
    const isTold = new Promise<void>((resolve) => {
      client.onStatus((event) => {
        if (event.type === 'disconnected' && event.endpoint === stopping.endpoint) resolve()
      })
    })
    const stopped = stopping.stop(10_000)
    await isTold
    const asked = stopping.dispatcher.asked.length
    for (let n = 0; n < 50; n++) assert.equal(await client.request('echo', n), n)
    assert.equal(stopping.dispatcher.asked.length, asked)
    for (const { dispatcher } of replicas)
      for (const { message, answer } of dispatcher.waiting) answer(message.data)
    assert.deepEqual(await Promise.all(calls), [...calls.keys()])
    await stopped
  })

  it('asks a function for its endpoints, and follows it', async () => {
    let list = [replicas[0]!.endpoint]
    const client = connectTo({ url: async () => list, resolveInterval: 5 })
    assert.equal(await client.request('echo', 1), 1)
    assert.equal(replicas[0]!.dispatcher.asked.length, 1)
    list = [replicas[1]!.endpoint]
    while (replicas[1]!.dispatcher.asked.length === 0) assert.equal(await client.request('echo', 2), 2)
    const known = told.events.filter((event) => event.type === 'endpoints').map(({ endpoints }) => endpoints)
    assert.deepEqual(known, [[replicas[0]!.endpoint], [replicas[1]!.endpoint]])
  })

  it('fails calls whose endpoints cannot be found out, and tries again with the next', async () => {
    let works = false
    const client = connectTo({
      retry: false,
      url: () => {
        if (!works) throw new Error('the registry is down')
        return endpoints()
      }
    })
    await assert.rejects(client.request('echo', 1), { name: 'ConnectionError', message: /registry is down/ })
    works = true
    assert.equal(await client.request('echo', 1), 1)
  })

  it('takes all addresses of a name', async () => {
    const client = connectTo({ url: [`dns:localhost:${replicas[0]!.port}`] })
    assert.equal(await client.request('echo', 1), 1)
  })

  describe('that SRV records name', () => {
    const srv = 'srv:_math._tcp.example.com'
    let dns: DnsServer
    const record = (port: number, priority: number, weight = 1) => ({
      name: '127.0.0.1',
      port,
      priority,
      weight
    })

    beforeEach(async () => {
      dns = await DnsServer.start()
      cleanups.push(async () => dns.stop())
    })

    it('calls those of the lowest priority number, others while none of these can be reached', async () => {
      const [first, second, backup] = replicas as [Replica, Replica, Replica]
      dns.records = [record(backup.port, 20), record(first.port, 10), record(second.port, 10)]
      const client = connectTo({ url: [srv] })
      const ask = async (count: number) => {
        for (let n = 0; n < count; n++) assert.equal(await client.request('echo', n), n)
      }
      await client.connect()
      await connectedTo(client, 3)
      await ask(50)
      assert.equal(backup.dispatcher.asked.length, 0)
      for (const { dispatcher } of [first, second]) assert.ok(dispatcher.asked.length > 5)
      await first.stop(10_000)
      await ask(50)
      assert.equal(backup.dispatcher.asked.length, 0)
      await second.stop(10_000)
      await ask(50)
      assert.equal(backup.dispatcher.asked.length, 50)
      await first.start()
      await connectedTo(client, 4)
      await ask(50)
      assert.equal(backup.dispatcher.asked.length, 50)
    })

    it('follows weights that change, on the connections there are', async () => {
      const [heavy, light] = replicas as [Replica, Replica]
      dns.records = [record(heavy.port, 0, 1_000), record(light.port, 0, 0)]
      const client = connectTo({ url: [srv], resolveInterval: 5 })
      await client.connect()
      await connectedTo(client, 2)
      for (let n = 0; n < 50; n++) await client.request('echo', n)
      assert.ok(light.dispatcher.asked.length < 10, `${light.dispatcher.asked.length}`)
      dns.records = [record(heavy.port, 0, 0), record(light.port, 0, 1_000)]
      const before = () => heavy.dispatcher.asked.length
      for (let last = -1; last !== before(); ) {
        last = before()
        for (let n = 0; n < 20; n++) await client.request('later', n)
      }
      assert.equal(told.named('connected').length, 2)
    })

    for (const reachable of [true, false]) {
      it(`waits with the first calls until it is known that the first can ${reachable ? '' : 'not '}be reached`, async () => {
        const [first, backup] = replicas as [Replica, Replica]
        const door = net.createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1')
        await once(door, 'listening')
        cleanups.push(async () => void door.close())
        const knocked = once(door, 'connection') as Promise<[net.Socket]>
        dns.records = [record((door.address() as net.AddressInfo).port, 1), record(backup.port, 2)]
        const client = connectTo({ url: [srv] })
        const call = client.request('echo', 'hello')
        await connectedTo(client, 1)
        await client.connect()
        const late = client.request('echo', 'hello again')
        const [socket] = await knocked
        assert.equal(backup.dispatcher.asked.length, 0)
        if (reachable) {
          const inside = net.connect(first.port, '127.0.0.1')
          socket.pipe(inside).pipe(socket)
          for (const end of [socket, inside]) end.on('error', () => {})
        } else socket.destroy()
        assert.deepEqual(await Promise.all([call, late]), ['hello', 'hello again'])
        assert.equal((reachable ? first : backup).dispatcher.asked.length, 2)
      })
    }
  })

  it('refuses options that are not what they must be', () => {
    const bad: TcpClientOptions[] = [
      { url: [] },
      { url: ['a:b'] },
      { url: 'a:b' },
      { url: 'a:1', host: 'b' },
      { url: ['srv:'] },
      { url: ['dns:'] },
      { url: [7 as never] },
      { reconnect: { minDelay: -1 } },
      { reconnect: { minDelay: 10, maxDelay: 5 } },
      { retry: { attempts: 0 } },
      { retry: { budget: { ratio: -1 } } },
      { eject: { failures: 0 } },
      { resolveInterval: 0 }
    ]
    for (const options of bad) assert.throws(() => newClient(options, logger), { name: 'OptionError' })
  })
})
