/** Tests a client whose server fails: reconnecting, calls that wait, calls that are retried. Over real sockets. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { RecordingLogger, TestDispatcher } from '@elysia-microservices/rsocket/testing'
import {
  type ConnectionEvent,
  PatternNotFoundError,
  RejectedError
} from '@elysia-microservices/transport/kit'
import type { TcpClientOptions } from '../options/client-options.ts'
import type { TcpServerOptions } from '../options/server-options.ts'
import type { TcpServer } from '../server/server.ts'
import { newClient, newServer } from '../testing/ends.ts'
import type { TcpClient } from './client.ts'

/** Short pauses, so that the tests are fast. */
const RECONNECT = { minDelay: 5, maxDelay: 50 }

for (const protocol of ['nest', 'rsocket'] as const) {
  describe(`a client whose server fails, protocol ${protocol}`, () => {
    let dispatcher: TestDispatcher
    let server: TcpServer
    let client: TcpClient
    let events: ConnectionEvent[]
    const cleanups: (() => Promise<void>)[] = []

    async function start(options: TcpServerOptions = {}): Promise<TcpServer> {
      const started = newServer({ host: '127.0.0.1', port: 0, ...options }, new RecordingLogger())
      await started.start(dispatcher)
      cleanups.push(() => started.stop({ drain: 0 }))
      return started
    }

    function connectTo(
      port: number,
      options: TcpClientOptions = {},
      logger = new RecordingLogger()
    ): TcpClient {
      events = []
      const all = {
        host: '127.0.0.1',
        port,
        protocol,
        reconnect: RECONNECT,
        ...options
      }
      const made = newClient(all, logger)
      made.onStatus((event) => events.push(event))
      cleanups.push(() => made.close())
      return made
    }

    /** Resolves when an event of this type occurs. */
    const until = (type: ConnectionEvent['type'], of = client) =>
      new Promise<ConnectionEvent>((resolve) => {
        const stop = of.onStatus((event) => {
          if (event.type !== type) return
          stop()
          resolve(event)
        })
      })
    const begun = () => dispatcher.begins()
    const statuses = () => events.flatMap((event) => (event.type === 'status' ? [event.status] : []))

    beforeEach(async () => {
      dispatcher = new TestDispatcher()
      server = await start()
      client = connectTo(server.address!.port)
    })
    afterEach(async () => {
      for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
    })

    it('counts its attempts to connect, and says how long it pauses before each', async () => {
      await client.request('echo', 1)
      const attempts = () => events.flatMap((event) => (event.type === 'reconnecting' ? [event] : []))
      const endpoint = `127.0.0.1:${server.address!.port}`
      await server.stop({ drain: 0 })
      while (attempts().length < 3) await until('reconnecting')
      assert.deepEqual(
        attempts().map((event) => [event.endpoint, event.attempt]),
        attempts().map((_, index) => [endpoint, index + 1])
      )
      for (const { delay } of attempts()) assert.ok(delay >= 0 && delay <= RECONNECT.maxDelay, `${delay}`)
    })

    it('connects again in the background, and tells', async () => {
      assert.equal(client.status, 'disconnected')
      await client.request('echo', 1)
      const { port } = server.address!
      const lost = until('connect-failed')
      await server.stop({ drain: 0 })
      await lost
      assert.equal(client.status, 'reconnecting')
      const again = until('connected')
      await start({ port })
      await again
      assert.equal(client.status, 'connected')
      assert.equal(await client.request('echo', 2), 2)
      await client.close()
      assert.deepEqual(statuses(), ['connecting', 'connected', 'reconnecting', 'connected', 'closed'])
      assert.ok(events.some(({ type }) => type === 'reconnecting'))
    })

    it('lets calls wait for the connection, in order, events too', async () => {
      await client.connect()
      const { port } = server.address!
      const lost = until('connect-failed')
      await server.stop({ drain: 0 })
      await lost
      const sent = Array.from({ length: 50 }, (_, index) => client.emit('event', index))
      const call = client.request('echo', 'waited')
      const streamed = new Promise<unknown[]>((resolve, reject) => {
        const values: unknown[] = []
        const receiver = { next: (value: unknown) => values.push(value), complete: () => resolve(values) }
        client.stream('count', 3, { ...receiver, error: reject })
      })
      await start({ port })
      await Promise.all(sent)
      assert.equal(await call, 'waited')
      assert.deepEqual(await streamed, [0, 1, 2])
      assert.deepEqual(dispatcher.events, [...Array(50).keys()])
    })

    it('fails calls that have waited for all their time, and those given up', async () => {
      await client.connect()
      const lost = until('connect-failed')
      await server.stop({ drain: 0 })
      await lost
      const never = { name: 'ConnectionError', mayHaveRun: false, message: /within 20 ms/ }
      await assert.rejects(client.request('echo', 1, { timeout: 20 }), never)
      const controller = new AbortController()
      const canceled = assert.rejects(client.request('echo', 1, { signal: controller.signal }), {
        name: 'CanceledError'
      })
      controller.abort()
      await canceled
      const receiver = { next: assert.fail, complete: assert.fail, error: assert.fail }
      client.stream('echo', 1, receiver).cancel()
      const closed = assert.rejects(client.request('echo', 1), { name: 'ConnectionError', mayHaveRun: false })
      await client.close()
      await closed
      await assert.rejects(client.request('echo', 1), { message: /closed/ })
    })

    it('connects only when somebody calls, if it is told so', async () => {
      const lazy = connectTo(server.address!.port, { reconnect: false })
      await lazy.request('echo', 1)
      const { port } = server.address!
      const lost = until('disconnected', lazy)
      await server.stop({ drain: 0 })
      await lost
      assert.equal(lazy.status, 'disconnected')
      await start({ port })
      assert.equal(await lazy.request('echo', 2), 2)
    })

    it('retries calls that never left, as often as it is told', async () => {
      const unused = net.createServer().listen(0, '127.0.0.1')
      await once(unused, 'listening')
      const { port } = unused.address() as net.AddressInfo
      unused.close()
      await once(unused, 'close')
      const lonely = connectTo(port, { retry: { attempts: 3, minDelay: 1 } })
      await assert.rejects(lonely.request('echo', 1), { name: 'ConnectionError', mayHaveRun: false })
      assert.equal(events.filter(({ type }) => type === 'retry').length, 2)
      const strict = connectTo(port, { retry: false })
      await assert.rejects(strict.request('echo', 1), { name: 'ConnectionError', mayHaveRun: false })
      assert.equal(events.filter(({ type }) => type === 'retry').length, 0)
      const logger = new RecordingLogger()
      const poor = connectTo(port, { retry: { minDelay: 1, budget: { ratio: 0, perSecond: 0 } } }, logger)
      for (const n of [1, 2])
        await assert.rejects(poor.emit('event', n), { name: 'ConnectionError', mayHaveRun: false })
      assert.equal(events.filter(({ type }) => type === 'retry').length, 0)
      assert.equal(String(logger.lines).match(/options\.retry\.budget is used up/g)?.length, 1)
    })

    it('retries calls that may have run only if they are idempotent', async () => {
      const { port } = server.address!
      const waiting = begun()
      const plain = assert.rejects(client.request('wait', 1), { name: 'ConnectionError', mayHaveRun: true })
      const idempotent = client.request('wait', 2, { idempotent: true })
      await waiting
      while (dispatcher.waiting.length < 2) await begun()
      await server.stop({ drain: 0 })
      await plain
      await start({ port })
      while (dispatcher.waiting.length < 3) await begun()
      assert.equal(dispatcher.waiting[2]!.message.data, 2)
      dispatcher.waiting[2]!.answer('answer')
      assert.equal(await idempotent, 'answer')
    })

    it('says of a call that it may have run if an attempt may have, whatever the last one is answered', async () => {
      const { port } = server.address!
      const twice = connectTo(port, { retry: { attempts: 2, minDelay: 1 } })
      // Nest's wire cannot express a refusal.
      const refusals = protocol === 'nest' ? [] : [new RejectedError('busy')]
      for (const answer of [...refusals, PatternNotFoundError.of('wait')]) {
        const { name } = answer
        dispatcher.request = TestDispatcher.prototype.request
        const waiting = begun()
        const failed = assert.rejects(twice.request('wait', 1, { idempotent: true }), {
          name,
          mayHaveRun: true
        })
        await waiting
        dispatcher.request = () => {
          throw answer
        }
        await server.stop({ drain: 0 })
        server = await start({ port })
        await failed
        await assert.rejects(twice.request('wait', 1), { name, mayHaveRun: false })
      }
    })

    it('makes no stream again whose first value has come', async () => {
      const values: unknown[] = []
      const failed = new Promise<Error>((resolve) => {
        const next = (value: unknown) => {
          values.push(value)
          if (values.length === 1) void server.stop({ drain: 0 })
        }
        client.stream('endless', 1, { next, complete: assert.fail, error: resolve }, { idempotent: true })
      })
      assert.equal((await failed).name, 'ConnectionError')
      assert.equal(events.filter(({ type }) => type === 'retry').length, 0)
    })

    it('settles every call exactly once while its server comes and goes', async () => {
      const { port } = server.address!
      let settled = 0
      const outcomes: unknown[] = []
      const calls: Promise<void>[] = []
      let current = server
      for (let round = 0; round < 5; round++) {
        for (let n = 0; n < 200; n++) {
          const data = round * 200 + n
          const call = client.request('later', data, { idempotent: true }).then(
            (value) => void outcomes.push(value === data ? 'answered' : value),
            (error: Error) => void outcomes.push(error.name)
          )
          calls.push(call.then(() => void settled++))
          let ends = 0
          calls.push(
            new Promise((resolve) => {
              const end = () => {
                ends++
                assert.equal(ends, 1)
                resolve()
              }
              client.stream('later', data, { next() {}, complete: end, error: end })
            })
          )
        }
        await current.stop({ drain: 0 })
        current = await start({ port })
      }
      await Promise.all(calls)
      assert.equal(settled, 1_000)
      assert.ok(outcomes.every((outcome) => outcome === 'answered' || outcome === 'ConnectionError'))
    })
  })
}

describe('a client of an RSocket server that refuses', () => {
  it('retries the call, within its time', async () => {
    let refusals = 2
    const dispatcher = new TestDispatcher()
    const request = dispatcher.request.bind(dispatcher)
    dispatcher.request = (message) => {
      if (refusals-- > 0) throw new RejectedError('busy')
      return request(message)
    }
    const server = newServer({ host: '127.0.0.1', port: 0 }, new RecordingLogger())
    await server.start(dispatcher)
    const { port } = server.address!
    const client = newClient({ host: '127.0.0.1', port, retry: { minDelay: 1 } }, new RecordingLogger())
    assert.equal(await client.request('echo', 1), 1)
    refusals = 3
    await assert.rejects(client.request('echo', 1), { name: 'RejectedError' })
    refusals = 1
    const values: unknown[] = []
    await new Promise<void>((resolve, reject) => {
      const receiver = { next: (value: unknown) => values.push(value), complete: resolve, error: reject }
      const call = client.stream('count', 200, receiver, { demand: 10 })
      // One more than there are values, because a generator ends only when one more value is requested.
      call.request(191)
    })
    assert.equal(values.length, 200)
    await client.close()
    await server.stop({ drain: 0 })
  })
})

describe('a call that waits for a lease of a server that stops', () => {
  it('is made at the next server, although another call still runs at the first', async () => {
    const [first, second] = [new TestDispatcher(), new TestDispatcher()]
    const logger = new RecordingLogger()
    const started = async (dispatcher: TestDispatcher, port: number) => {
      const server = newServer({ host: '127.0.0.1', port, limits: { inFlightPerConnection: 1 } }, logger)
      await server.start(dispatcher)
      return server
    }
    const stopping = await started(first, 0)
    const { port } = stopping.address!
    const options = {
      host: '127.0.0.1',
      port,
      rsocket: { lease: true },
      reconnect: RECONNECT,
      retry: false as const
    }
    const client = newClient(options, logger)
    const begun = first.begins()
    const running = client.request('wait', 1)
    await begun
    const waiting = client.request('echo', 2)
    const stopped = stopping.stop({ drain: 60_000 })
    const next = await started(second, port)
    assert.equal(await waiting, 2)
    first.waiting[0]?.answer('done')
    assert.equal(await running, 'done')
    await stopped
    await client.close()
    await next.stop({ drain: 0 })
  })
})

describe('a call within a message', () => {
  it('has what is left of the time, and none that is over', async () => {
    const dispatcher = new TestDispatcher()
    const server = newServer({ host: '127.0.0.1', port: 0 }, new RecordingLogger())
    await server.start(dispatcher)
    const { port } = server.address!
    const client = newClient({ host: '127.0.0.1', port }, new RecordingLogger())
    let inner: Promise<unknown> | undefined
    const told: (number | undefined)[] = []
    dispatcher.began = (message) => {
      told.push(message.timeout)
      if (message.route === 'wait') {
        inner = client.request('echo', 1, { within: message })
        dispatcher.waiting[0]!.answer('outer')
      }
    }
    assert.equal(await client.request('wait', 1, { timeout: 60_000 }), 'outer')
    assert.equal(await inner, 1)
    const [outer = 0, within = 0] = told
    assert.ok(0 < within && within <= outer && outer <= 60_000, told.join(', '))
    const over = { remaining: 0 }
    await assert.rejects(client.request('echo', 1, { within: over }), { name: 'TimeoutError' })
    await new Promise<void>((resolve) => {
      client.stream('echo', 1, { next() {}, complete() {}, error: () => resolve() }, { within: over })
    })
    const signal = AbortSignal.abort()
    await assert.rejects(client.request('echo', 1, { within: { remaining: undefined, signal } }), {
      name: 'CanceledError'
    })
    await client.close()
    await server.stop({ drain: 0 })
  })
})
