/**
 * Tests which connection takes a call, which calls wait, and which events are reported. Over real sockets, accepted one
 * by one.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { error, outcomeOf, turn } from '@elysia-microservices/rsocket/testing'
import {
  type ConnectionError,
  type ConnectionEvent,
  type IncomingMessage,
  RejectedError
} from '@elysia-microservices/transport/kit'
import type { TcpClientOptions } from '../options/client-options.ts'
import type { TestOptions } from '../options/shared-options.ts'
import type { TcpServer } from '../server/server.ts'
import { nodeSockets } from '../socket/node.ts'
import { DnsServer } from '../testing/dns-server.ts'
import { type ClientParts, Ends } from '../testing/ends.ts'
import type { TcpClient } from './client.ts'

/** The outcome of an attempt to connect. `waits`: until the attempt is cancelled. */
type Fate = 'connects' | 'connects late' | 'fails' | 'waits'

describe('the connections of a client', () => {
  let ends: Ends
  let events: ConnectionEvent[]
  /** The ports of all attempts to connect, in order. */
  let attempts: number[]
  let fates: Map<number, Fate>
  const cleanups: (() => unknown)[] = []

  beforeEach(() => {
    events = []
    attempts = []
    fates = new Map()
    ends = new Ends({
      listen: (address, accept) => nodeSockets.listen(address, accept),
      async connect(address, accept, signal) {
        attempts.push(address.port)
        const fate = fates.get(address.port) ?? 'connects'
        if (fate === 'connects late') await new Promise((resolve) => setTimeout(resolve, 30))
        if (fate.startsWith('connects')) return nodeSockets.connect(address, accept, signal)
        if (fate === 'fails') throw Object.assign(new Error('nobody'), { code: 'ECONNREFUSED' })
        await once(signal, 'abort')
        throw signal.reason
      }
    })
  })
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0)) await cleanup()
    await ends.close()
  })

  const portOf = (server: TcpServer) => server.address!.port
  const nameOf = (port: number) => `127.0.0.1:${port}`
  const named = (type: ConnectionEvent['type'], port?: number) =>
    events.filter(
      (event) =>
        event.type === type &&
        (port === undefined || ('endpoint' in event && event.endpoint === nameOf(port)))
    )

  function connectTo(ports: readonly number[], options: TcpClientOptions & TestOptions & ClientParts = {}) {
    const [only] = ports
    const where = ports.length === 1 ? undefined : ports.map(nameOf)
    const client = ends.client(only ?? 0, { url: where, retry: false, ...options })
    client.onStatus((event) => events.push(event))
    return client
  }

  const until = (client: TcpClient, isWanted: () => boolean) =>
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
      ends.dispatcher.began = resolve
    })

  /** Opens a port at which the system accepts connections but no server answers. */
  async function silentPort(): Promise<number> {
    const sockets = new Set<net.Socket>()
    const door = net.createServer({ pauseOnConnect: true }, (socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
    })
    door.listen(0, '127.0.0.1')
    await once(door, 'listening')
    cleanups.push(() => {
      for (const socket of sockets) socket.destroy()
      door.close()
    })
    return (door.address() as net.AddressInfo).port
  }

  describe('while they are made', () => {
    it('are told of at once', async () => {
      const server = await ends.server({})
      for (const ports of [[portOf(server)], [portOf(server), 1]]) {
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
      const server = await ends.server({})
      fates.set(1, 'fails')
      const client = connectTo([1, portOf(server)], { reconnect: false })
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

    it('count when the server has answered, where there are several', async () => {
      const silent = await silentPort()
      const server = await ends.server({})
      for (const connect of [true, false]) {
        const client = connectTo([silent, portOf(server)])
        if (connect) await client.connect()
        for (let n = 0; n < 20; n++) assert.equal(await client.request('echo', n), n)
        assert.equal(named('connected', silent).length, 0)
      }
    })

    it('count at once where there is only one, whose calls need not wait', async () => {
      const silent = await silentPort()
      for (const connect of [true, false]) {
        const client = connectTo([silent])
        if (connect) await client.connect()
        else client.request('echo', 1).catch(() => {})
        await until(client, () => client.status === 'connected')
      }
    })

    it('let calls wait for the last of them', async () => {
      const server = await ends.server({})
      fates.set(1, 'fails').set(portOf(server), 'connects late')
      const client = connectTo([1, portOf(server)])
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
      const servers = [await ends.server({}), await ends.server({})]
      const client = connectTo(servers.map(portOf), { reconnect: false })
      await client.connect()
      await until(client, () => named('connected').length === 2)
      for (const server of servers) fates.set(portOf(server), 'fails')
      for (const server of servers) await server.stop({ drain: 0 })
      await until(client, () => named('disconnected').length === 2)
      assert.equal(client.status, 'disconnected')
      await assert.rejects(client.request('echo', 1), { message: /^Cannot connect to / })
      assert.equal(attempts.length, 4)
    })

    it('are not retried if the listener that is told closes the client', async () => {
      const server = await ends.server({})
      const client = connectTo([portOf(server)], { reconnect: { minDelay: 0, maxDelay: 0 } })
      await client.request('echo', 1)
      const closed = new Promise<void>((resolve) => {
        client.onStatus(({ type }) => {
          if (type === 'disconnected') void client.close().then(resolve)
        })
      })
      await server.stop({ drain: 0 })
      await closed
      await turn()
      assert.equal(named('reconnecting').length, 0)
      assert.equal(attempts.length, 1)
      assert.equal(client.status, 'closed')
    })

    it('are retried after one pause at a time, and nobody else pauses', async (t) => {
      t.mock.method(Math, 'random', () => 0.5)
      const servers = [await ends.server({}), await ends.server({}), await ends.server({})]
      const ports = servers.map(portOf)
      fates.set(1, 'fails').set(ports[1]!, 'connects late').set(ports[2]!, 'connects late')
      const client = connectTo([1, ...ports], { reconnect: { minDelay: 60_000, maxDelay: 60_000 } })
      await client.connect()
      await until(client, () => named('connected').length === 3)
      assert.deepEqual(
        named('reconnecting').map((event) => ({ ...event })),
        [{ type: 'reconnecting', endpoint: nameOf(1), attempt: 1, delay: 30_000 }]
      )
    })

    it('count again when the server has answered', async () => {
      const [stays, restarted] = [await ends.server({}), await ends.server({})]
      const client = connectTo([portOf(stays), portOf(restarted)], {
        reconnect: { minDelay: 1, maxDelay: 1 }
      })
      await client.connect()
      await until(client, () => named('connected').length === 2)
      const port = portOf(restarted)
      await restarted.stop({ drain: 0 })
      const door = net.createServer({ pauseOnConnect: true }, (socket) => {
        cleanups.push(() => socket.destroy())
        socket.on('error', () => {})
      })
      door.listen(port, '127.0.0.1')
      cleanups.push(() => door.close())
      await once(door, 'connection')
      for (let n = 0; n < 10; n++) assert.equal(await client.request('echo', n), n)
      assert.equal(named('connected', port).length, 1)
    })

    it('cause the endpoints to be looked up again', async (t) => {
      const real = performance.now.bind(performance)
      let ahead = 0
      t.mock.method(performance, 'now', () => real() + ahead)
      const [old, other] = [await ends.server({}), await ends.server({})]
      let list = [nameOf(portOf(old))]
      const client = connectTo([], { url: async () => list, resolveInterval: 600_000 })
      await client.request('echo', 1)
      list = [nameOf(portOf(other))]
      ahead = 1_000
      await old.stop({ drain: 0 })
      await until(client, () => named('disconnected').length > 0)
      assert.equal(await client.request('echo', 2), 2)
      assert.equal(named('endpoints').length, 2)
    })
  })

  describe('that are no longer wanted', () => {
    it('end with the client, and their calls too, when the server was about to stop', async () => {
      const server = await ends.server({})
      const client = connectTo([portOf(server)])
      const started = begun()
      const call = outcomeOf(client.request('wait', 1))
      await started
      const stopped = server.stop({ drain: 60_000 })
      await until(client, () => named('disconnected').length > 0)
      assert.deepEqual(call, [])
      await client.close()
      await turn()
      assert.deepEqual(call, ['ConnectionError'])
      await stopped
      assert.equal(named('disconnected').length, 1)
    })

    it('end with the client, and their calls too, when the endpoint was removed', async () => {
      const [removed, other] = [await ends.server({}), await ends.server({})]
      let list = [nameOf(portOf(removed))]
      const client = connectTo([], { url: async () => list, resolveInterval: 1 })
      const started = begun()
      const call = outcomeOf(client.request('wait', 1))
      await started
      list = [nameOf(portOf(other))]
      await until(client, () => named('connected').length === 2)
      assert.deepEqual(call, [])
      await client.close()
      await turn()
      assert.deepEqual(call, ['ConnectionError'])
      assert.equal(named('disconnected').length, 0)
    })

    it('are told of by the list, not as lost; calls wait while it is empty', async () => {
      const server = await ends.server({})
      let list = [nameOf(portOf(server))]
      const client = connectTo([], { url: async () => list, resolveInterval: 1 })
      assert.equal(await client.request('echo', 1), 1)
      list = []
      await until(client, () => named('endpoints').length === 2)
      await turn()
      assert.equal(client.status, 'reconnecting')
      const call = client.request('echo', 2)
      list = [nameOf(portOf(server))]
      assert.equal(await call, 2)
      assert.equal(named('disconnected').length, 0)
    })

    it('are closed when their calls have ended', async () => {
      const [removed, other] = [await ends.server({}), await ends.server({})]
      let list = [nameOf(portOf(removed))]
      const client = connectTo([], { url: async () => list, resolveInterval: 1 })
      const started = begun()
      const call = client.request('wait', 1)
      await started
      list = [nameOf(portOf(other))]
      await until(client, () => named('connected').length === 2)
      assert.equal(removed.stats().connections.current, 1)
      ends.dispatcher.waiting[0]?.answer('late')
      assert.equal(await call, 'late')
      while (removed.stats().connections.current > 0) await turn()
    })

    it('are closed by this side when the server goes away', async () => {
      const goesAway = net.createServer((socket) => {
        socket.on('error', () => {})
        socket.once('data', () => socket.write(error(0, 0x102, 'going away')))
      })
      goesAway.listen(0, '127.0.0.1')
      await once(goesAway, 'listening')
      const accepted = once(goesAway, 'connection') as Promise<[net.Socket]>
      const { port } = goesAway.address() as net.AddressInfo
      const client = connectTo([port], { reconnect: false })
      await client.connect()
      const [socket] = await accepted
      await once(socket, 'end')
      goesAway.close()
      assert.equal(client.status, 'disconnected')
    })

    it('fail their calls at once, though the server does not close them', async () => {
      const client = connectTo([await silentPort()])
      const call = outcomeOf(client.request('echo', 1))
      await until(client, () => client.status === 'connected')
      void client.close()
      await turn()
      assert.deepEqual(call, ['ConnectionError'])
    })

    it('hold no call back, if one waits only because they might be better', async () => {
      const backup = await ends.server({})
      const better = await silentPort()
      const record = { name: '127.0.0.1', port: portOf(backup), priority: 2, weight: 1 }
      const dns = await DnsServer.start()
      cleanups.push(() => dns.stop())
      dns.records = [{ ...record, port: better, priority: 1 }, record]
      const client = connectTo([], { url: ['srv:_math._tcp.example.com'], resolveInterval: 1 })
      const call = client.request('echo', 1)
      await until(client, () => named('connected').length === 1)
      dns.records = [record]
      assert.equal(await call, 1)
    })

    it('are not named as the reason why a call waits, when another was made meanwhile', async () => {
      const backup = await ends.server({})
      const record = { name: '127.0.0.1', port: portOf(backup), priority: 2, weight: 1 }
      const dns = await DnsServer.start()
      cleanups.push(() => dns.stop())
      dns.records = [{ ...record, port: 1, priority: 1 }, { ...record, port: 2 }, record]
      fates.set(1, 'waits').set(2, 'fails').set(portOf(backup), 'connects late')
      const client = connectTo([], {
        url: ['srv:_math._tcp.example.com'],
        reconnect: { minDelay: 600_000, maxDelay: 600_000 }
      })
      await client.connect()
      assert.ok(named('connect-failed', 2).length > 0)
      await assert.rejects(client.request('echo', 1, { timeout: 10 }), (error: ConnectionError) => {
        assert.equal(error.message, 'No connection within 10 ms')
        assert.equal(error.endpoint, undefined)
        return true
      })
    })

    it('are not looked for when the client is closed', async () => {
      const server = await ends.server({})
      let asked = 0
      const endpoints = async () => {
        asked++
        return [nameOf(portOf(server))]
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
      const server = await ends.server({})
      const client = connectTo([portOf(server)], { retry: { minDelay: 0 } })
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
      const servers = [await ends.server({}), await ends.server({})]
      const told: (number | undefined)[] = []
      const answer = ends.dispatcher.request.bind(ends.dispatcher)
      ends.dispatcher.request = async (message) => {
        told.push(message.timeout)
        if (told.length > 1) return answer(message)
        await new Promise((resolve) => setTimeout(resolve, 20))
        throw new RejectedError('busy')
      }
      const client = connectTo(servers.map(portOf), { retry: true, timeout: 5_000 })
      await client.connect()
      await until(client, () => named('connected').length === 2)
      assert.equal(await client.request('echo', 1), 1)
      const [retry] = events.filter((event) => event.type === 'retry')
      assert.equal(retry?.delay, 0)
      assert.equal(told[0], 5_000)
      assert.ok(told[1]! < 5_000, String(told[1]))
    })

    it('retry them elsewhere', async () => {
      const servers = [await ends.server({}), await ends.server({})]
      let refuses: number | undefined
      const answer = ends.dispatcher.request.bind(ends.dispatcher)
      const seen: (number | undefined)[] = []
      ends.dispatcher.request = (message) => {
        // The two servers share a dispatcher, so this test distinguishes connections by the client's port.
        const port = message.peer?.port
        seen.push(port)
        refuses ??= port
        if (port === refuses) throw new RejectedError('busy')
        return answer(message)
      }
      const client = connectTo(servers.map(portOf), { retry: { attempts: 2 }, eject: false })
      await client.connect()
      await until(client, () => named('connected').length === 2)
      for (let n = 0; n < 30; n++) assert.equal(await client.request('echo', n), n)
      assert.ok(named('retry').length > 0)
    })

    for (const protocol of ['rsocket', 'nest'] as const) {
      it(`say that a call may have run, if an earlier attempt may, protocol ${protocol}`, async () => {
        const server = await ends.server({})
        const options = { protocol, reconnect: false, retry: { minDelay: 0, maxDelay: 0 } }
        const client = connectTo([portOf(server)], options)
        const started = begun()
        const call = client.request('wait', 1, { idempotent: true })
        await started
        const failed = assert.rejects(call, { message: /^Cannot connect to /, mayHaveRun: true })
        fates.set(portOf(server), 'fails')
        await server.stop({ drain: 0 })
        await failed
        await assert.rejects(client.request('echo', 1), { mayHaveRun: false })
      })
    }

    it('fail at once what their only connection has no room for', async () => {
      const server = await ends.server({})
      for (const connections of [1, 2]) {
        const client = connectTo([portOf(server)], {
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
      const servers = [await ends.server({}), await ends.server({})]
      const [first, second] = servers.map(portOf) as [number, number]
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
      const servers = [await ends.server({}), await ends.server({})]
      const client = connectTo(servers.map(portOf), {
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
      const [removed, other] = [await ends.server({}), await ends.server({})]
      let list = [nameOf(portOf(removed))]
      const client = connectTo([], {
        url: async () => list,
        resolveInterval: 1,
        retry: { minDelay: 0, maxDelay: 0, budget: { ratio: 0.25, perSecond: 0 } }
      })
      for (let n = 0; n < 3; n++) await client.request('echo', n)
      list = [nameOf(portOf(other))]
      await until(client, () => named('connected').length === 2)
      while (removed.stats().connections.current > 0) await turn()
      await new Promise((resolve) => setTimeout(resolve, 20))
      const answer = ends.dispatcher.request.bind(ends.dispatcher)
      let refusals = 1
      ends.dispatcher.request = (message) => {
        if (refusals-- > 0) throw new RejectedError('busy')
        return answer(message)
      }
      assert.equal(await client.request('echo', 4), 4)
    })

    it('split the keys of an endpoint', async () => {
      const server = await ends.server({})
      const peers = new Set<number | undefined>()
      ends.dispatcher.began = ({ peer }) => peers.add(peer?.port)
      const client = connectTo([portOf(server)], { connections: 3 })
      await client.connect()
      await until(client, () => named('connected').length === 3)
      for (let n = 0; n < 60; n++) await client.request('echo', n, { key: `user-${n}` })
      assert.equal(peers.size, 3)
    })

    it('say which endpoint had them', async () => {
      const server = await ends.server({})
      const client = connectTo([portOf(server)])
      const started = begun()
      const call = client.request('wait', 1)
      await started
      const endpoint = nameOf(portOf(server))
      const failed = assert.rejects(call, { pattern: 'wait', endpoint, mayHaveRun: true })
      await server.stop({ drain: 0 })
      await failed
    })

    it('fail them with a refusal at once, while the client tries again', async () => {
      let isWelcome = true
      const options = { authenticate: () => isWelcome }
      const server = await ends.server(options)
      const port = portOf(server)
      const client = connectTo([port], { reconnect: { minDelay: 1, maxDelay: 1 } })
      await client.request('echo', 1)
      isWelcome = false
      await server.stop({ drain: 0 })
      await ends.server({ port, ...options })
      const isRefused = (event: ConnectionEvent) =>
        event.type === 'connect-failed' && event.error?.name === 'UnauthenticatedError'
      await until(client, () => events.some(isRefused))
      fates.set(port, 'waits')
      await new Promise((resolve) => setTimeout(resolve, 30))
      const call = outcomeOf(client.request('echo', 1))
      await turn()
      assert.deepEqual(call, ['UnauthenticatedError'])
    })

    it('fail them with a refusal only until the server accepts the client again', async () => {
      let isWelcome = true
      const options = { authenticate: () => isWelcome }
      const server = await ends.server(options)
      const port = portOf(server)
      const client = connectTo([port], { reconnect: { minDelay: 1, maxDelay: 1 } })
      await client.request('echo', 1)
      isWelcome = false
      await server.stop({ drain: 0 })
      const refusing = await ends.server({ port, ...options })
      const refused = () =>
        client.request('echo', 1).then(
          () => 'answered',
          (error: Error) => error.name
        )
      while ((await refused()) !== 'UnauthenticatedError') await turn()
      isWelcome = true
      while ((await refused()) !== 'answered') await turn()
      fates.set(port, 'fails')
      await refusing.stop({ drain: 0 })
      await until(client, () => client.status === 'reconnecting')
      const call = client.request('echo', 2)
      await turn()
      fates.set(port, 'connects')
      await ends.server({ port, ...options })
      assert.equal(await call, 2)
    })
  })
})
