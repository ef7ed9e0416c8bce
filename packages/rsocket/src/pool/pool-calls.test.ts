/** Tests which connection takes a call, which calls are retried, and which endpoints are ejected, over links in memory. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { RejectedError } from '@elysia-microservices/transport/kit'
import { nameOf, PoolScene } from '../testing/pool-scene.ts'
import { outcomeOf, turn } from '../testing/rsocket-peer.ts'
import { TestDispatcher } from '../testing/service.ts'

describe('the connections of a client, and calls that fail', () => {
  let scene: PoolScene
  beforeEach(() => {
    scene = new PoolScene()
  })
  afterEach(() => scene.close())

  it('retry them after a pause where there is nobody else', async (t) => {
    t.mock.method(Math, 'random', () => 0.5)
    for (const ports of [[1], [1, 2]]) {
      scene.fate('fails', ...ports)
      scene.told.events.length = 0
      scene.attempts.length = 0
      const client = scene.connectTo(ports, { retry: { minDelay: 10_000, maxDelay: 10_000 } })
      const call = outcomeOf(client.request('echo', 1, { headers: { a: 'b' } }))
      await scene.count(client, 'retry', 1)
      await turn()
      assert.equal(scene.attempts.length, ports.length)
      const [retry] = scene.told.events.filter((event) => event.type === 'retry')
      assert.deepEqual([retry?.attempt, retry?.delay, retry?.pattern], [1, 5_000, 'echo'])
      assert.deepEqual(retry?.headers, { a: 'b' })
      await client.close()
      await turn()
      assert.deepEqual(call, ['ConnectionError'])
    }
  })

  it('retry them at once where there is somebody else, who is told the time that is left', async (t) => {
    const real = performance.now.bind(performance)
    let ahead = 0
    t.mock.method(performance, 'now', () => real() + ahead)
    const ports = [scene.newServer(), scene.newServer()]
    const told: (number | undefined)[] = []
    const answer = scene.dispatcher.request.bind(scene.dispatcher)
    scene.dispatcher.request = (message) => {
      told.push(message.timeout)
      if (told.length > 1) return answer(message)
      ahead = 1_000
      throw new RejectedError('busy')
    }
    const client = await scene.connectedTo(ports, { retry: true, timeout: 5_000 })
    assert.equal(await client.request('echo', 1), 1)
    const [retry] = scene.told.events.filter((event) => event.type === 'retry')
    assert.equal(retry?.delay, 0)
    assert.equal(told[0], 5_000)
    assert.ok(told[1]! <= 4_000, String(told[1]))
  })

  it('retry them elsewhere', async () => {
    const refusing = new TestDispatcher()
    refusing.request = () => {
      throw new RejectedError('busy')
    }
    const ports = [scene.newServer(refusing), scene.newServer()]
    const client = await scene.connectedTo(ports, { retry: { attempts: 2 }, eject: false })
    for (let n = 0; n < 30; n++) assert.equal(await client.request('echo', n), n)
    assert.ok(scene.named('retry').length > 0)
  })

  it('fail at once what their only connection has no room for', async () => {
    const server = scene.newServer()
    for (const connections of [1, 2]) {
      const client = await scene.connectedTo([server], {
        connections,
        retry: { minDelay: 0 },
        limits: { sendBuffer: 1_000 }
      })
      const value = 'x'.repeat(700)
      const calls = [1, 2, 3].map(() => client.request('echo', value, { key: 'same' }))
      const outcomes = await Promise.allSettled(calls)
      assert.deepEqual(
        outcomes.map((outcome) => (outcome.status === 'fulfilled' ? 'ok' : (outcome.reason as Error).name)),
        ['ok', 'OverloadedError', 'OverloadedError']
      )
      assert.equal(scene.named('retry').length, 0)
      scene.told.events.length = 0
      await client.close()
    }
  })

  it('eject one of two that does not answer, but not the only one', async () => {
    const ports = [scene.newServer(), scene.newServer()]
    const [first, second] = ports as [number, number]
    for (const [ports, connections] of [
      [[first, second], 1],
      [[first], 2]
    ] as const) {
      scene.told.events.length = 0
      const client = await scene.connectedTo(ports, {
        connections,
        eject: { failures: 1, ratio: 0, minDelay: 60_000, maxDelay: 60_000 }
      })
      // Errors of a handler, and unknown patterns, are not failures of an endpoint.
      await assert.rejects(client.request('fail', 1), { code: 'E' })
      await assert.rejects(client.request('nothing', 1), { code: 'PATTERN_NOT_FOUND' })
      assert.equal(scene.named('ejected').length, 0)
      await assert.rejects(client.request('wait', 1, { timeout: 10 }), { name: 'TimeoutError' })
      assert.equal(scene.named('ejected').length, ports.length - 1)
      await client.close()
    }
  })

  it('eject nobody for a call that had no room', async () => {
    const ports = [scene.newServer(), scene.newServer()]
    const client = await scene.connectedTo(ports, {
      retry: { attempts: 3, minDelay: 0 },
      eject: { failures: 1, ratio: 0 },
      limits: { sendBuffer: 1_000 }
    })
    const value = 'x'.repeat(700)
    const calls = [1, 2].map(() => client.request('echo', value, { key: 'same' }))
    assert.deepEqual(await Promise.all(calls), [value, value])
    assert.equal(scene.named('retry').length, 1)
    assert.equal(scene.named('ejected').length, 0)
  })

  it('make as many again as the budget allows for the calls made so far', async () => {
    scene.fate('fails', 1)
    const client = scene.connectTo([1], {
      reconnect: false,
      retry: { attempts: 10, minDelay: 0, maxDelay: 0, budget: { ratio: 0.5, perSecond: 0 } }
    })
    const retries: number[] = []
    for (let n = 0; n < 4; n++) {
      await assert.rejects(client.request('echo', n), { name: 'ConnectionError' })
      retries.push(scene.named('retry').length)
    }
    // A retry counts as a call, so every second attempt allows one more retry.
    assert.deepEqual(retries, [0, 1, 2, 3])
  })

  it('count those of endpoints that are gone for the budget', async () => {
    const [removed, other] = [scene.newServer(), scene.newServer()]
    let list = [nameOf(removed)]
    const client = scene.connectTo([], {
      url: async () => list,
      resolveInterval: 1,
      retry: { minDelay: 0, maxDelay: 0, budget: { ratio: 0.25, perSecond: 0 } }
    })
    for (let n = 0; n < 3; n++) await client.request('echo', n)
    list = [nameOf(other)]
    await scene.count(client, 'connected', 2)
    while (scene.serverAt(removed).links.size > 0) await turn()
    const answer = scene.dispatcher.request.bind(scene.dispatcher)
    let refusals = 1
    scene.dispatcher.request = (message) => {
      if (refusals-- > 0) throw new RejectedError('busy')
      return answer(message)
    }
    assert.equal(await client.request('echo', 4), 4)
  })

  it('say which endpoint had them', async () => {
    const server = scene.newServer()
    const client = scene.connectTo([server])
    const started = scene.dispatcher.begins()
    const call = client.request('wait', 1)
    await started
    const endpoint = nameOf(server)
    const failed = assert.rejects(call, { pattern: 'wait', endpoint, mayHaveRun: true })
    scene.lose(server)
    await failed
  })
})
