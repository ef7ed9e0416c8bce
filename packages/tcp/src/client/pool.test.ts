/**
 * Tests which connection takes a call, which calls wait, and which events are reported. Over real sockets, accepted one
 * by one.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { error, outcomeOf, Told, turn } from '@elysia-microservices/rsocket/testing'
import type { ConnectionError, ConnectionEvent } from '@elysia-microservices/transport/kit'
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
  let told: Told
  /** The ports of all attempts to connect, in order. */
  let attempts: number[]
  let fates: Map<number, Fate>
  const cleanups: (() => unknown)[] = []

  beforeEach(() => {
    told = new Told()
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
    told.named(type, port === undefined ? undefined : nameOf(port))

  function connectTo(ports: readonly number[], options: TcpClientOptions & TestOptions & ClientParts = {}) {
    const [only] = ports
    const where = ports.length === 1 ? undefined : ports.map(nameOf)
    const client = ends.client(only ?? 0, { url: where, retry: false, ...options })
    told.by(client)
    return client
  }

  const until = (client: TcpClient, isSo: () => boolean) => told.until(client, isSo)
  const begun = () => ends.dispatcher.begins()

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
  })

  describe('that are lost', () => {
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
  })

  describe('and calls that fail', () => {
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
      await until(client, () => told.events.some(isRefused))
      fates.set(port, 'waits')
      for (const before = attempts.length; attempts.length === before; ) await turn()
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
