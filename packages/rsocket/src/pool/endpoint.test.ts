/** Tests one endpoint: what it counts, and when it connects again. Its pauses pass when the test says so. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { PendingCaller } from '@elysia-microservices/transport/kit'
import type { ClientProtocol } from '../connection/protocol.ts'
import { MemoryServer } from '../testing/memory-link.ts'
import { newRsocketClient, outcomeOf, RouteDispatcher, turn } from '../testing/rsocket-peer.ts'
import { HeldTimers } from '../testing/timers.ts'
import { Endpoint, type EndpointOwner } from './endpoint.ts'

/** The longest pause, and the least duration of a connection that counts as a success. */
const MAX_DELAY = 1_000

class Owner implements EndpointOwner {
  readonly told: string[] = []

  protocol(_endpoint: Endpoint, where: string): ClientProtocol {
    return newRsocketClient({ where }).connection
  }

  opened(): void {
    this.told.push('opened')
  }

  lost(endpoint: Endpoint, open: boolean): void {
    this.told.push(open ? 'lost' : 'failed')
    endpoint.reconnect()
  }

  pausing(_endpoint: Endpoint, attempt: number, delay: number): void {
    this.told.push(`pause ${attempt} of ${delay}`)
  }

  /** Returns the reports of the endpoint since the last call. */
  news(): string[] {
    return this.told.splice(0)
  }
}

describe('an endpoint', () => {
  let owner: Owner
  let server: MemoryServer
  let endpoint: Endpoint

  function newEndpoint(reconnect: { minDelay: number; maxDelay: number } | undefined): Endpoint {
    const address = { host: 'server', port: 1 }
    const newLink = (_: unknown, parts: Parameters<MemoryServer['link']>[0]) => server.link(parts)
    return new Endpoint('the endpoint', 0, { address, newLink, connectTimeout: 10_000, reconnect }, owner)
  }

  beforeEach(() => {
    owner = new Owner()
    server = new MemoryServer(new RouteDispatcher({ p: () => new Promise(() => {}) }))
    endpoint = newEndpoint({ minDelay: 100, maxDelay: MAX_DELAY })
  })
  afterEach(() => endpoint.end())

  const until = async (isDone: () => boolean) => {
    while (!isDone()) await turn()
  }

  it('is nothing before it connects', () => {
    const { usable, connecting, untried, inFlight, started, link } = endpoint
    assert.deepEqual(
      { usable, connecting, untried, inFlight, started, link },
      { usable: false, connecting: false, untried: true, inFlight: 0, started: 0, link: undefined }
    )
    assert.equal(endpoint.name, 'the endpoint')
    assert.equal(endpoint.slot, 0)
  })

  it('has the rank of its address, or the usual one', () => {
    endpoint.rank({ host: 'a', port: 1, priority: 3, weight: 7 })
    assert.deepEqual([endpoint.priority, endpoint.weight], [3, 7])
    endpoint.rank({ host: 'a', port: 1 })
    assert.deepEqual([endpoint.priority, endpoint.weight], [0, 1])
  })

  it('counts the calls of all its connections, and those in flight of the present one', async () => {
    endpoint = newEndpoint(undefined)
    const caller = new PendingCaller((call) => endpoint.connect(false).protocol.calls.start(call), 0)
    const calls = [caller.request('p', 1), caller.request('p', 2)].map(outcomeOf)
    assert.deepEqual([endpoint.started, endpoint.inFlight, endpoint.connecting], [2, 2, true])
    await endpoint.ready
    await until(() => server.links.size === 1)
    server.lose()
    await until(() => calls.flat().length === 2)
    assert.deepEqual([endpoint.started, endpoint.inFlight, endpoint.connecting], [2, 0, false])
    void outcomeOf(caller.request('p', 3))
    assert.deepEqual([endpoint.started, endpoint.inFlight], [3, 1])
    await endpoint.end()
    assert.deepEqual([endpoint.started, endpoint.inFlight], [3, 0])
    assert.deepEqual([endpoint.usable, endpoint.connecting], [false, false])
  })

  it('takes no more calls when it has left', async () => {
    endpoint.connect(true)
    await endpoint.ready
    assert.deepEqual([endpoint.usable, endpoint.connecting, endpoint.untried], [true, false, false])
    await endpoint.leave()
    assert.deepEqual([endpoint.usable, endpoint.connecting, endpoint.link], [false, false, undefined])
    assert.deepEqual(owner.news(), ['opened'])
  })

  it('does not count as connected if it leaves meanwhile', async () => {
    endpoint.connect(true)
    const { ready } = endpoint
    await Promise.all([endpoint.leave(), ready.catch(() => {})])
    await turn()
    assert.deepEqual(owner.news(), [])
    assert.equal(endpoint.usable, false)
  })

  it('pauses longer after each failure, until a connection has lasted as long as the longest pause', async (t) => {
    let now = 50_000
    t.mock.method(performance, 'now', () => now)
    t.mock.method(Math, 'random', () => 0.5)
    using pauses = new HeldTimers(MAX_DELAY)
    server.fate = 'fails'
    endpoint.connect(true)
    await assert.rejects(endpoint.ready)
    assert.deepEqual(owner.news(), ['failed', 'pause 1 of 50'])
    assert.deepEqual([endpoint.usable, endpoint.connecting, endpoint.untried], [false, false, false])
    now += 60_000
    pauses.pass()
    await assert.rejects(endpoint.ready)
    assert.deepEqual(owner.news(), ['failed', 'pause 2 of 100'])
    server.fate = 'connects'
    for (const [lasts, told] of [
      [MAX_DELAY - 1, 'pause 3 of 200'],
      [MAX_DELAY, 'pause 1 of 50'],
      [0, 'pause 2 of 100']
    ] as const) {
      pauses.pass()
      await endpoint.ready
      await until(() => server.links.size === 1)
      now += lasts
      server.lose()
      await until(() => owner.told.length === 3)
      assert.deepEqual(owner.news(), ['opened', 'lost', told])
    }
  })

  it('has one pause at a time, and none while it connects', async (t) => {
    t.mock.method(Math, 'random', () => 0.5)
    using pauses = new HeldTimers(MAX_DELAY)
    endpoint.reconnect()
    endpoint.reconnect()
    assert.deepEqual(pauses.delays, [50])
    endpoint.connect(true)
    assert.deepEqual(pauses.delays, [])
    endpoint.reconnect()
    await endpoint.ready
    endpoint.reconnect()
    assert.deepEqual(pauses.delays, [])
    assert.equal(server.attempts, 1)
    assert.deepEqual(owner.news(), ['pause 1 of 50', 'opened'])
  })

  it('has no pause when it has left, nor begins one', async () => {
    for (const end of ['leave', 'end'] as const) {
      using pauses = new HeldTimers(MAX_DELAY)
      const leaving = newEndpoint({ minDelay: 100, maxDelay: MAX_DELAY })
      leaving.reconnect()
      assert.equal(pauses.delays.length, 1)
      await leaving[end]()
      leaving.reconnect()
      assert.deepEqual(pauses.delays, [])
    }
  })

  it('does not connect again by itself if it is told so', () => {
    using pauses = new HeldTimers(MAX_DELAY)
    const lazy = newEndpoint(undefined)
    lazy.reconnect()
    assert.deepEqual(pauses.delays, [])
    assert.deepEqual(owner.news(), [])
  })
})
