/** Tests which connection takes a call, which calls wait, and which events are reported, over links in memory. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import {
  type ConnectionEvent,
  type IncomingMessage,
  RejectedError
} from '@elysia-microservices/transport/kit'
import { newTimer } from '../connection/timer.ts'
import { type ResilienceOptions, resilienceOptions } from '../options/resilience-options.ts'
import { type Fate, MemoryServer } from '../testing/memory-link.ts'
import { newRsocketClient, outcomeOf, turn } from '../testing/rsocket-peer.ts'
import { RecordingLogger, TestDispatcher } from '../testing/service.ts'
import { PoolClient } from './pool-client.ts'

interface ClientOptions extends Omit<ResilienceOptions, 'url'> {
  readonly url?: ResilienceOptions['url'] | undefined
  readonly timeout?: number
  readonly limits?: { readonly sendBuffer: number }
}

describe('the connections of a client', () => {
  let dispatcher: TestDispatcher
  let servers: Map<number, MemoryServer>
  let clients: PoolClient[]
  let events: ConnectionEvent[]
  /** The ports of all attempts to connect, in order. */
  let attempts: number[]

  beforeEach(() => {
    dispatcher = new TestDispatcher()
    servers = new Map()
    clients = []
    events = []
    attempts = []
  })
  afterEach(async () => {
    for (const client of clients) await client.close()
  })

  /** The server at a port, which is made if it is missing. */
  function serverAt(port: number): MemoryServer {
    const server = servers.get(port) ?? new MemoryServer(dispatcher)
    servers.set(port, server)
    return server
  }
  let last = 1_000
  const newServer = () => {
    serverAt(++last)
    return last
  }
  const fates = {
    set(port: number, fate: Fate) {
      serverAt(port).fate = fate
      return fates
    }
  }
  /** The server stops at once. */
  const stop = (port: number) => serverAt(port).lose()
  const nameOf = (port: number) => `127.0.0.1:${port}`
  const named = (type: ConnectionEvent['type'], port?: number) =>
    events.filter(
      (event) =>
        event.type === type &&
        (port === undefined || ('endpoint' in event && event.endpoint === nameOf(port)))
    )

  function connectTo(
    ports: readonly number[],
    { timeout = 30_000, limits, ...options }: ClientOptions = {}
  ): PoolClient {
    const logger = new RecordingLogger()
    const defaults = { connections: 1, resolveInterval: 10_000, reconnect: true, retry: false, eject: true }
    const client = new PoolClient(
      {
        name: 'tcp',
        resilience: resilienceOptions({ ...defaults, url: ports.map(nameOf), ...options } as never),
        own: { host: 'localhost', port: 4000 },
        scheme: 'tcp://',
        connectTimeout: 10_000,
        resolver: { lookup: async () => [], srv: async () => [] },
        newLink: ({ host, port }, parts) => {
          attempts.push(port)
          return serverAt(port).link(parts, `tcp://${host}:${port}`)
        },
        newProtocol: (parts) =>
          newRsocketClient({ ...parts, timeout, newTimer, ...(limits && { maxUnsent: limits.sendBuffer }) })
            .connection
      },
      { logger, timeout, dispatcher: undefined }
    )
    clients.push(client)
    client.onStatus((event) => events.push(event))
    return client
  }

  const until = (client: PoolClient, isWanted: () => boolean) =>
    new Promise<void>((resolve) => {
      if (isWanted()) return resolve()
      const stop = client.onStatus(() => {
        // The other listener may get the event later.
        queueMicrotask(() => {
          if (!isWanted()) return
          stop()
          resolve()
        })
      })
    })

  const begun = () =>
    new Promise<IncomingMessage>((resolve) => {
      dispatcher.began = resolve
    })

  describe('while they are made', () => {
    it('are told of at once', async () => {
      const server = newServer()
      for (const ports of [[server], [server, 1]]) {
        fates.set(1, 'waits')
        const connecting = connectTo(ports)
        assert.equal(connecting.status, 'disconnected')
        const connected = connecting.connect()
        assert.equal(connecting.status, 'connecting')
        await connected
        assert.equal(connecting.status, 'connected')
        const calling = connectTo(ports)
        const call = calling.request('echo', 1)
        assert.equal(calling.status, 'connecting')
        assert.equal(await call, 1)
      }
    })

    it('are told of as soon as endpoints are found', async () => {
      fates.set(1, 'waits')
      const client = connectTo([], { url: async () => [nameOf(1)] })
      const connected = client.connect()
      await until(client, () => named('endpoints').length > 0)
      await turn()
      assert.equal(client.status, 'connecting')
      await client.close()
      await assert.rejects(connected, { name: 'ConnectionError' })
    })

    it('are not made a second time by connect()', async () => {
      const server = newServer()
      fates.set(1, 'fails')
      const client = connectTo([1, server], { reconnect: false })
      await client.connect()
      await until(client, () => named('connect-failed').length > 0)
      const before = attempts.length
      await client.connect()
      await client.request('echo', 1)
      assert.equal(attempts.length, before)
    })

    it('cannot be made to an empty list', async () => {
      const client = connectTo([], { url: () => [] })
      await assert.rejects(client.connect(), {
        name: 'ConnectionError',
        message: /no endpoint to connect to/,
        mayHaveRun: false
      })
      await assert.rejects(client.request('echo', 1, { timeout: 10 }), {
        name: 'ConnectionError',
        message: 'No connection within 10 ms'
      })
    })

    it('fail with what is known of the first endpoint, and calls with all of them', async () => {
      for (const port of [1, 2]) fates.set(port, 'fails')
      const client = connectTo([1, 2])
      await assert.rejects(client.connect(), { message: /^Cannot connect to tcp:\/\/127\.0\.0\.1:1: / })
      await assert.rejects(client.request('echo', 1), {
        message: 'Cannot connect to tcp://127.0.0.1:1, tcp://127.0.0.1:2: connection refused',
        pattern: 'echo',
        endpoint: nameOf(2)
      })
    })

    it('of a look-up that fails have not been tried', async () => {
      const client = connectTo([], {
        url: () => {
          throw new Error('no directory')
        }
      })
      await assert.rejects(client.connect(), { name: 'ConnectionError', mayHaveRun: false })
      await assert.rejects(client.request('echo', 1), { message: /^Cannot connect to any endpoint: / })
    })

    it('let calls wait for the last of them', async () => {
      const server = newServer()
      fates.set(1, 'fails').set(server, 'connects late')
      const client = connectTo([1, server])
      assert.equal(await client.request('echo', 1), 1)
    })

    it('say why a call has waited without success', async () => {
      fates.set(1, 'fails').set(2, 'waits')
      const client = connectTo([1, 2])
      await assert.rejects(client.request('echo', 1, { timeout: 20 }), {
        message: 'No connection within 20 ms: nobody',
        endpoint: nameOf(1)
      })
    })
  })

  describe('that are lost', () => {
    it('fail calls, if nobody is to connect again by itself', async () => {
      const ports = [newServer(), newServer()]
      const client = connectTo(ports, { reconnect: false })
      await client.connect()
      await until(client, () => named('connected').length === 2)
      for (const server of ports) fates.set(server, 'fails')
      for (const server of ports) stop(server)
      await until(client, () => named('disconnected').length === 2)
      assert.equal(client.status, 'disconnected')
      await assert.rejects(client.request('echo', 1), { message: /^Cannot connect to / })
      assert.equal(attempts.length, 4)
    })

    it('are not retried if the listener that is told closes the client', async () => {
      const server = newServer()
      const client = connectTo([server], { reconnect: { minDelay: 0, maxDelay: 0 } })
      await client.request('echo', 1)
      const closed = new Promise<void>((resolve) => {
        client.onStatus(({ type }) => {
          if (type === 'disconnected') void client.close().then(resolve)
        })
      })
      stop(server)
      await closed
      await turn()
      assert.equal(named('reconnecting').length, 0)
      assert.equal(attempts.length, 1)
      assert.equal(client.status, 'closed')
    })

    it('are retried after one pause at a time, and nobody else pauses', async (t) => {
      t.mock.method(Math, 'random', () => 0.5)
      const ports = [newServer(), newServer(), newServer()]
      fates.set(1, 'fails').set(ports[1]!, 'connects late').set(ports[2]!, 'connects late')
      const client = connectTo([1, ...ports], { reconnect: { minDelay: 60_000, maxDelay: 60_000 } })
      await client.connect()
      await until(client, () => named('connected').length === 3)
      assert.deepEqual(
        named('reconnecting').map((event) => ({ ...event })),
        [{ type: 'reconnecting', endpoint: nameOf(1), attempt: 1, delay: 30_000 }]
      )
    })

    it('cause the endpoints to be looked up again', async (t) => {
      const real = performance.now.bind(performance)
      let ahead = 0
      t.mock.method(performance, 'now', () => real() + ahead)
      const [old, other] = [newServer(), newServer()]
      let list = [nameOf(old)]
      const client = connectTo([], { url: async () => list, resolveInterval: 600_000 })
      await client.request('echo', 1)
      list = [nameOf(other)]
      ahead = 1_000
      stop(old)
      await until(client, () => named('disconnected').length > 0)
      assert.equal(await client.request('echo', 2), 2)
      assert.equal(named('endpoints').length, 2)
    })
  })

  describe('that are no longer wanted', () => {
    it('are told of by the list, not as lost; calls wait while it is empty', async () => {
      const server = newServer()
      let list = [nameOf(server)]
      const client = connectTo([], { url: async () => list, resolveInterval: 1 })
      assert.equal(await client.request('echo', 1), 1)
      list = []
      await until(client, () => named('endpoints').length === 2)
      await turn()
      assert.equal(client.status, 'reconnecting')
      const call = client.request('echo', 2)
      list = [nameOf(server)]
      assert.equal(await call, 2)
      assert.equal(named('disconnected').length, 0)
    })

    it('are closed when their calls have ended', async () => {
      const [removed, other] = [newServer(), newServer()]
      let list = [nameOf(removed)]
      const client = connectTo([], { url: async () => list, resolveInterval: 1 })
      const started = begun()
      const call = client.request('wait', 1)
      await started
      list = [nameOf(other)]
      await until(client, () => named('connected').length === 2)
      assert.equal(serverAt(removed).links.size, 1)
      dispatcher.waiting[0]?.answer('late')
      assert.equal(await call, 'late')
      while (serverAt(removed).links.size > 0) await turn()
    })

    it('are not looked for when the client is closed', async () => {
      const server = newServer()
      let asked = 0
      const endpoints = async () => {
        asked++
        return [nameOf(server)]
      }
      const client = connectTo([], { url: endpoints, resolveInterval: 1 })
      await client.request('echo', 1)
      while (asked < 3) await new Promise((resolve) => setTimeout(resolve, 1))
      assert.deepEqual(
        events.filter(({ type }) => type === 'endpoints' || type === 'resolve-failed').length,
        1
      )
      await client.close()
      await turn()
      const before = asked
      await new Promise((resolve) => setTimeout(resolve, 20))
      assert.equal(asked, before)
    })

    it('fail idempotent calls in flight, which are not retried by a closed client', async () => {
      const server = newServer()
      const client = connectTo([server], { retry: { minDelay: 0 } })
      const started = begun()
      const call = outcomeOf(client.request('wait', 1, { idempotent: true }))
      await started
      await client.close()
      await turn()
      assert.deepEqual(call, ['ConnectionError'])
      assert.equal(named('retry').length, 0)
    })
  })

  describe('and calls that fail', () => {
    it('retry them after a pause where there is nobody else', async (t) => {
      t.mock.method(Math, 'random', () => 0.5)
      for (const ports of [[1], [1, 2]]) {
        for (const port of ports) fates.set(port, 'fails')
        events.length = 0
        attempts.length = 0
        const client = connectTo(ports, { retry: { minDelay: 10_000, maxDelay: 10_000 } })
        const call = outcomeOf(client.request('echo', 1, { headers: { a: 'b' } }))
        await until(client, () => named('retry').length > 0)
        await new Promise((resolve) => setTimeout(resolve, 20))
        assert.equal(attempts.length, ports.length)
        const [retry] = events.filter((event) => event.type === 'retry')
        assert.deepEqual([retry?.attempt, retry?.delay, retry?.pattern], [1, 5_000, 'echo'])
        assert.deepEqual(retry?.headers, { a: 'b' })
        await client.close()
        await turn()
        assert.deepEqual(call, ['ConnectionError'])
      }
    })

    it('retry them at once where there is somebody else, who is told the time that is left', async () => {
      const ports = [newServer(), newServer()]
      const told: (number | undefined)[] = []
      const answer = dispatcher.request.bind(dispatcher)
      dispatcher.request = async (message) => {
        told.push(message.timeout)
        if (told.length > 1) return answer(message)
        await new Promise((resolve) => setTimeout(resolve, 20))
        throw new RejectedError('busy')
      }
      const client = connectTo(ports, { retry: true, timeout: 5_000 })
      await client.connect()
      await until(client, () => named('connected').length === 2)
      assert.equal(await client.request('echo', 1), 1)
      const [retry] = events.filter((event) => event.type === 'retry')
      assert.equal(retry?.delay, 0)
      assert.equal(told[0], 5_000)
      assert.ok(told[1]! < 5_000, String(told[1]))
    })

    it('retry them elsewhere', async () => {
      const refusing = new TestDispatcher()
      refusing.request = () => {
        throw new RejectedError('busy')
      }
      const ports = [newServer(), newServer()]
      servers.set(ports[0]!, new MemoryServer(refusing))
      const client = connectTo(ports, { retry: { attempts: 2 }, eject: false })
      await client.connect()
      await until(client, () => named('connected').length === 2)
      for (let n = 0; n < 30; n++) assert.equal(await client.request('echo', n), n)
      assert.ok(named('retry').length > 0)
    })

    it('fail at once what their only connection has no room for', async () => {
      const server = newServer()
      for (const connections of [1, 2]) {
        const client = connectTo([server], {
          connections,
          retry: { minDelay: 0 },
          limits: { sendBuffer: 1_000 }
        })
        await client.connect()
        await until(client, () => named('connected').length >= connections)
        const value = 'x'.repeat(700)
        const calls = [1, 2, 3].map(() => client.request('echo', value, { key: 'same' }))
        const outcomes = await Promise.allSettled(calls)
        assert.deepEqual(
          outcomes.map((outcome) => (outcome.status === 'fulfilled' ? 'ok' : (outcome.reason as Error).name)),
          ['ok', 'OverloadedError', 'OverloadedError']
        )
        assert.equal(named('retry').length, 0)
        events.length = 0
        await client.close()
      }
    })

    it('eject one of two that does not answer, but not the only one', async () => {
      const ports = [newServer(), newServer()]
      const [first, second] = ports as [number, number]
      for (const [ports, connections] of [
        [[first, second], 1],
        [[first], 2]
      ] as const) {
        events.length = 0
        const client = connectTo(ports, {
          connections,
          eject: { failures: 1, ratio: 0, minDelay: 60_000, maxDelay: 60_000 }
        })
        await client.connect()
        await until(client, () => named('connected').length === 2)
        // Errors of a handler, and unknown patterns, are not failures of an endpoint.
        await assert.rejects(client.request('fail', 1), { code: 'E' })
        await assert.rejects(client.request('nothing', 1), { code: 'PATTERN_NOT_FOUND' })
        assert.equal(named('ejected').length, 0)
        await assert.rejects(client.request('wait', 1, { timeout: 10 }), { name: 'TimeoutError' })
        assert.equal(named('ejected').length, ports.length - 1)
        await client.close()
      }
    })

    it('eject nobody for a call that had no room', async () => {
      const ports = [newServer(), newServer()]
      const client = connectTo(ports, {
        retry: { attempts: 3, minDelay: 0 },
        eject: { failures: 1, ratio: 0 },
        limits: { sendBuffer: 1_000 }
      })
      await client.connect()
      await until(client, () => named('connected').length === 2)
      const value = 'x'.repeat(700)
      const calls = [1, 2].map(() => client.request('echo', value, { key: 'same' }))
      assert.deepEqual(await Promise.all(calls), [value, value])
      assert.equal(named('retry').length, 1)
      assert.equal(named('ejected').length, 0)
    })

    it('make as many again as the budget allows for the calls made so far', async () => {
      fates.set(1, 'fails')
      const client = connectTo([1], {
        reconnect: false,
        retry: { attempts: 10, minDelay: 0, maxDelay: 0, budget: { ratio: 0.5, perSecond: 0 } }
      })
      const retries: number[] = []
      for (let n = 0; n < 4; n++) {
        await assert.rejects(client.request('echo', n), { name: 'ConnectionError' })
        retries.push(named('retry').length)
      }
      // A retry counts as a call, so every second attempt allows one more retry.
      assert.deepEqual(retries, [0, 1, 2, 3])
    })

    it('count those of endpoints that are gone for the budget', async () => {
      const [removed, other] = [newServer(), newServer()]
      let list = [nameOf(removed)]
      const client = connectTo([], {
        url: async () => list,
        resolveInterval: 1,
        retry: { minDelay: 0, maxDelay: 0, budget: { ratio: 0.25, perSecond: 0 } }
      })
      for (let n = 0; n < 3; n++) await client.request('echo', n)
      list = [nameOf(other)]
      await until(client, () => named('connected').length === 2)
      while (serverAt(removed).links.size > 0) await turn()
      await new Promise((resolve) => setTimeout(resolve, 20))
      const answer = dispatcher.request.bind(dispatcher)
      let refusals = 1
      dispatcher.request = (message) => {
        if (refusals-- > 0) throw new RejectedError('busy')
        return answer(message)
      }
      assert.equal(await client.request('echo', 4), 4)
    })

    it('say which endpoint had them', async () => {
      const server = newServer()
      const client = connectTo([server])
      const started = begun()
      const call = client.request('wait', 1)
      await started
      const endpoint = nameOf(server)
      const failed = assert.rejects(call, { pattern: 'wait', endpoint, mayHaveRun: true })
      stop(server)
      await failed
    })
  })
})
