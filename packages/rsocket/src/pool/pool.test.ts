/** Tests how a client makes its connections, loses them and gives them up, over links in memory. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { nameOf, PoolScene } from '../testing/pool-scene.ts'
import { outcomeOf, turn } from '../testing/rsocket-peer.ts'
import { HeldTimers } from '../testing/timers.ts'

describe('the connections of a client', () => {
  let scene: PoolScene
  beforeEach(() => {
    scene = new PoolScene()
  })
  afterEach(() => scene.close())

  describe('while they are made', () => {
    it('are told of at once', async () => {
      const server = scene.newServer()
      for (const ports of [[server], [server, 1]]) {
        scene.fate('waits', 1)
        const connecting = scene.connectTo(ports)
        assert.equal(connecting.status, 'disconnected')
        const connected = connecting.connect()
        assert.equal(connecting.status, 'connecting')
        await connected
        assert.equal(connecting.status, 'connected')
        const calling = scene.connectTo(ports)
        const call = calling.request('echo', 1)
        assert.equal(calling.status, 'connecting')
        assert.equal(await call, 1)
      }
    })

    it('are told of as soon as endpoints are found', async () => {
      scene.fate('waits', 1)
      const client = scene.connectTo([], { url: async () => [nameOf(1)] })
      const connected = client.connect()
      await scene.count(client, 'endpoints', 1)
      await turn()
      assert.equal(client.status, 'connecting')
      await client.close()
      await assert.rejects(connected, { name: 'ConnectionError' })
    })

    it('are not made a second time by connect()', async () => {
      const server = scene.newServer()
      scene.fate('fails', 1)
      const client = scene.connectTo([1, server], { reconnect: false })
      await client.connect()
      await scene.count(client, 'connect-failed', 1)
      const before = scene.attempts.length
      await client.connect()
      await client.request('echo', 1)
      assert.equal(scene.attempts.length, before)
    })

    it('cannot be made to an empty list', async () => {
      const client = scene.connectTo([], { url: () => [] })
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
      scene.fate('fails', 1, 2)
      const client = scene.connectTo([1, 2])
      await assert.rejects(client.connect(), { message: /^Cannot connect to tcp:\/\/127\.0\.0\.1:1: / })
      await assert.rejects(client.request('echo', 1), {
        message: 'Cannot connect to tcp://127.0.0.1:1, tcp://127.0.0.1:2: connection refused',
        pattern: 'echo',
        endpoint: nameOf(2)
      })
    })

    it('of a look-up that fails have not been tried', async () => {
      const client = scene.connectTo([], {
        url: () => {
          throw new Error('no directory')
        }
      })
      await assert.rejects(client.connect(), { name: 'ConnectionError', mayHaveRun: false })
      await assert.rejects(client.request('echo', 1), { message: /^Cannot connect to any endpoint: / })
    })

    it('let calls wait for the last of them', async () => {
      const server = scene.newServer()
      scene.fate('fails', 1)
      scene.fate('connects late', server)
      const client = scene.connectTo([1, server])
      assert.equal(await client.request('echo', 1), 1)
    })

    it('say why a call has waited without success', async () => {
      scene.fate('fails', 1)
      scene.fate('waits', 2)
      const client = scene.connectTo([1, 2])
      await assert.rejects(client.request('echo', 1, { timeout: 20 }), {
        message: 'No connection within 20 ms: nobody',
        endpoint: nameOf(1)
      })
    })
  })

  describe('that are lost', () => {
    it('fail calls, if nobody is to connect again by itself', async () => {
      const ports = [scene.newServer(), scene.newServer()]
      const client = await scene.connectedTo(ports, { reconnect: false })
      scene.fate('fails', ...ports)
      for (const server of ports) scene.lose(server)
      await scene.count(client, 'disconnected', 2)
      assert.equal(client.status, 'disconnected')
      await assert.rejects(client.request('echo', 1), { message: /^Cannot connect to / })
      assert.equal(scene.attempts.length, 4)
    })

    it('are not retried if the listener that is told closes the client', async () => {
      const server = scene.newServer()
      const client = scene.connectTo([server], { reconnect: { minDelay: 0, maxDelay: 0 } })
      await client.request('echo', 1)
      const closed = new Promise<void>((resolve) => {
        client.onStatus(({ type }) => {
          if (type === 'disconnected') void client.close().then(resolve)
        })
      })
      scene.lose(server)
      await closed
      await turn()
      assert.equal(scene.named('reconnecting').length, 0)
      assert.equal(scene.attempts.length, 1)
      assert.equal(client.status, 'closed')
    })

    it('are retried after one pause at a time, and nobody else pauses', async (t) => {
      t.mock.method(Math, 'random', () => 0.5)
      const ports = [scene.newServer(), scene.newServer(), scene.newServer()]
      scene.fate('fails', 1)
      scene.fate('connects late', ...ports.slice(1))
      const client = scene.connectTo([1, ...ports], { reconnect: { minDelay: 60_000, maxDelay: 60_000 } })
      await client.connect()
      await scene.count(client, 'connected', 3)
      assert.deepEqual(
        scene.named('reconnecting').map((event) => ({ ...event })),
        [{ type: 'reconnecting', endpoint: nameOf(1), attempt: 1, delay: 30_000 }]
      )
    })

    it('cause the endpoints to be looked up again', async (t) => {
      const real = performance.now.bind(performance)
      let ahead = 0
      t.mock.method(performance, 'now', () => real() + ahead)
      const [old, other] = [scene.newServer(), scene.newServer()]
      let list = [nameOf(old)]
      const client = scene.connectTo([], { url: async () => list, resolveInterval: 600_000 })
      await client.request('echo', 1)
      list = [nameOf(other)]
      ahead = 1_000
      scene.lose(old)
      await scene.count(client, 'disconnected', 1)
      assert.equal(await client.request('echo', 2), 2)
      assert.equal(scene.named('endpoints').length, 2)
    })
  })

  describe('that are no longer wanted', () => {
    it('are told of by the list, not as lost; calls wait while it is empty', async () => {
      const server = scene.newServer()
      let list = [nameOf(server)]
      const client = scene.connectTo([], { url: async () => list, resolveInterval: 1 })
      assert.equal(await client.request('echo', 1), 1)
      list = []
      await scene.count(client, 'endpoints', 2)
      await turn()
      assert.equal(client.status, 'reconnecting')
      const call = client.request('echo', 2)
      list = [nameOf(server)]
      assert.equal(await call, 2)
      assert.equal(scene.named('disconnected').length, 0)
    })

    it('are closed when their calls have ended', async () => {
      const [removed, other] = [scene.newServer(), scene.newServer()]
      let list = [nameOf(removed)]
      const client = scene.connectTo([], { url: async () => list, resolveInterval: 1 })
      const started = scene.dispatcher.begins()
      const call = client.request('wait', 1)
      await started
      list = [nameOf(other)]
      await scene.count(client, 'connected', 2)
      assert.equal(scene.serverAt(removed).links.size, 1)
      scene.dispatcher.waiting[0]?.answer('late')
      assert.equal(await call, 'late')
      while (scene.serverAt(removed).links.size > 0) await turn()
    })

    it('are not looked for when the client is closed', async () => {
      using timers = new HeldTimers(1_000)
      const server = scene.newServer()
      let asked = 0
      const endpoints = async () => {
        asked++
        return [nameOf(server)]
      }
      const client = scene.connectTo([], { url: endpoints, resolveInterval: 1_000 })
      await client.request('echo', 1)
      while (asked < 3) {
        timers.pass()
        await turn()
      }
      assert.equal(scene.named('endpoints').length + scene.named('resolve-failed').length, 1)
      await client.close()
      await turn()
      assert.deepEqual(timers.delays, [])
    })

    it('end with the client, and their calls too, when the endpoint was removed', async () => {
      const [removed, other] = [scene.newServer(), scene.newServer()]
      let list = [nameOf(removed)]
      const client = scene.connectTo([], { url: async () => list, resolveInterval: 1 })
      const started = scene.dispatcher.begins()
      const call = outcomeOf(client.request('wait', 1))
      await started
      list = [nameOf(other)]
      await scene.count(client, 'connected', 2)
      assert.deepEqual(call, [])
      await client.close()
      await turn()
      assert.deepEqual(call, ['ConnectionError'])
      assert.equal(scene.named('disconnected').length, 0)
    })

    it('fail idempotent calls in flight, which are not retried by a closed client', async () => {
      const server = scene.newServer()
      const client = scene.connectTo([server], { retry: { minDelay: 0 } })
      const started = scene.dispatcher.begins()
      const call = outcomeOf(client.request('wait', 1, { idempotent: true }))
      await started
      await client.close()
      await turn()
      assert.deepEqual(call, ['ConnectionError'])
      assert.equal(scene.named('retry').length, 0)
    })
  })
})
