/** The driver as servers are lost, refuse, keep silent, or are nodes of a cluster. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it, type TestContext } from 'node:test'
import { freePort, Timeouts, until } from '@elysia-microservices/test-support'
import type { DriverConnection } from '../driver.ts'
import { type RedisOptions, redisOptions } from '../options/options.ts'
import { Recorded } from '../testing/cases-frame.ts'
import { bulk, list, ScriptedServer } from '../testing/scripted-server.ts'
import { ioredis } from './ioredis.ts'

/** Notes what happens, and what is refused; `mayGo`: whether the connection may do without that. */
class Listener extends Recorded {
  mayGo = true
  readonly signal: AbortSignal | undefined

  constructor(signal?: AbortSignal) {
    super()
    this.signal = signal
  }

  override refused = (channel?: string): boolean => {
    this.said.push(`refused ${channel}`)
    return this.mayGo
  }
}

describe('the driver over ioredis', () => {
  let servers: ScriptedServer[]
  let connections: DriverConnection[]
  let server: ScriptedServer
  let seen: Listener
  beforeEach(async () => {
    servers = []
    connections = []
    seen = new Listener()
    server = await start()
  })
  afterEach(async () => {
    for (const one of connections) one.close()
    for (const one of servers) await one.close()
  })

  async function start(): Promise<ScriptedServer> {
    const one = await new ScriptedServer().listen()
    servers.push(one)
    return one
  }

  async function open(options: RedisOptions = {}, name?: string): Promise<DriverConnection> {
    const connection = await ioredis.open(redisOptions({ url: server.url, ...options }), name, seen)
    connections.push(connection)
    return connection
  }

  const refuse = (name: string, words: string) => {
    server.answer = ([command, ...args]) =>
      command === name && args.length > 0 ? `-${words}\r\n` : undefined
  }
  const count = (words: string) => seen.said.filter((one) => one === words).length
  it('has a connection for commands and one for subscriptions, and one to store what replicas must have', async () => {
    await open({}, 'orders')
    assert.deepEqual([server.open, server.count('CLIENT setname orders')], [2, 2])
    await open({ durable: { replicas: 2 } })
    assert.equal(server.open, 5)
  })

  it('says why it cannot connect, and leaves no connection', async () => {
    server.answer = ([name, about]) =>
      name === 'INFO' && about === 'server' ? bulk('redis_mode:cluster') : undefined
    await assert.rejects(open(), { name: 'OptionError', message: /is a node of a cluster/ })
    for (const words of ['WRONGPASS invalid username-password pair', 'NOAUTH Authentication required.']) {
      server.answer = ([name]) => (name === 'AUTH' || name === 'INFO' ? `-${words}\r\n` : undefined)
      await assert.rejects(open({ password: 'p' }), {
        name: 'UnauthenticatedError',
        message: /check username/
      })
    }
    server.answer = ([name]) => (name === 'INFO' ? '-ERR something else\r\n' : undefined)
    await assert.rejects(open(), { name: 'ConnectionError', message: /something else/ })
    server.answer = () => ''
    await assert.rejects(open({ connectTimeout: 100 }), { name: 'ConnectionError', message: /100 ms/ })
    await until('All are closed', () => server.open === 0)
    const controller = new AbortController()
    seen = new Listener(controller.signal)
    const given = open()
    await until('It has connected', () => server.open > 0)
    controller.abort(new Error('given up'))
    await assert.rejects(given, /given up/)
    await until('All are closed', () => server.open === 0)
    const before = server.connections
    server.answer = () => undefined
    seen = new Listener()
    await open()
    assert.equal(server.connections, before + 2, 'nothing else has connected again')
  })

  it('connects for a user who may not ask what the server is', async () => {
    refuse('INFO', 'NOPERM no permissions')
    assert.equal((await open()).isConnected, true)
  })

  it('restores what is subscribed when the server is back, tells it once, and forgets what was ended', async () => {
    const connection = await open()
    for (const channel of ['a', 'b', 'a']) await connection.subscribe(channel)
    for (const glob of ['c*', 'd*', 'c*']) await connection.subscribe(glob, true)
    await connection.unsubscribe(['b'], ['d*'])
    assert.deepEqual(
      ['SUBSCRIBE a', 'PSUBSCRIBE c*', 'UNSUBSCRIBE b', 'PUNSUBSCRIBE d*'].map((one) => server.count(one)),
      [1, 1, 1, 1]
    )
    server.cut()
    await seen.until('lost')
    assert.equal(connection.isConnected, false)
    await connection.unsubscribe([], [])
    await seen.until('restored')
    assert.equal(connection.isConnected, true)
    assert.deepEqual(
      ['SUBSCRIBE a', 'PSUBSCRIBE c*', 'SUBSCRIBE b', 'PSUBSCRIBE d*'].map((one) => server.count(one)),
      [2, 2, 1, 1]
    )
    assert.deepEqual([count('lost'), count('restored')], [1, 1])
    connection.renew()
    await seen.until('restored', 2)
    assert.equal(count('lost'), 2)
  })

  it('lets a server that is back learn how events are stored, before it tells that the server is there', async () => {
    const connection = await open()
    const loads = () => server.asked.filter((one) => one.startsWith('SCRIPT LOAD')).length
    server.cut()
    await seen.until('restored')
    assert.equal(loads(), 0, 'nothing was stored')
    await connection.store.ensure('p', 'name')
    assert.equal(loads(), 1)
    server.answer = ([name]) => (name === 'SCRIPT' ? '' : undefined)
    server.cut()
    await until('It is asked', () => loads() === 2)
    assert.deepEqual([connection.isConnected, count('restored')], [false, 1])
    server.answer = () => undefined
    server.cut()
    await seen.until('restored', 2)
    assert.equal(loads(), 3)
    refuse('SCRIPT', 'NOPERM no permissions')
    server.cut()
    await seen.until('restored', 3)
    assert.equal(loads(), 4)
  })

  it('connects again soon, and later each time', async (t) => {
    t.mock.method(Math, 'random', () => 1)
    const connection = await open()
    using timeouts = new Timeouts((delay) => (delay === 100 ? 1 : delay))
    server.answer = ([name]) => (name === 'INFO' ? '-ERR not yet\r\n' : undefined)
    server.cut()
    await until('It has tried twice', () => timeouts.begun.includes(100))
    server.answer = () => undefined
    await seen.until('restored')
    assert.ok(timeouts.begun.indexOf(50) < timeouts.begun.indexOf(100) && timeouts.begun.includes(50))
    assert.equal(connection.isConnected, true)
  })

  it('keeps a subscription that is made while the server is lost, and ends one', async () => {
    const connection = await open()
    await connection.subscribe('ended')
    server.cut()
    await seen.until('lost')
    const made = connection.subscribe('made').catch(() => {})
    await connection.unsubscribe(['ended'], [])
    await seen.until('restored')
    await made
    assert.deepEqual([server.count('SUBSCRIBE ended'), server.count('UNSUBSCRIBE ended')], [1, 0])
    assert.ok(server.count('SUBSCRIBE made') > 0)
  })

  it('forgets a subscription that the server refuses, and does without it if it may', async () => {
    const connection = await open()
    const forbid = (...channels: readonly string[]) => {
      server.answer = ([name, ...args]) =>
        /^P?SUBSCRIBE$/.test(name as string) && args.some((one) => channels.includes(one))
          ? '-NOPERM no permissions\r\n'
          : undefined
    }
    forbid('x')
    for (let time = 0; time < 2; time++) await assert.rejects(connection.subscribe('x'), /NOPERM/)
    assert.equal(server.count('SUBSCRIBE x'), 2)
    forbid()
    for (const channel of ['a', 'x', 'b']) await connection.subscribe(channel)
    await connection.subscribe('y*', true)
    forbid('x', 'y*')
    server.cut()
    await seen.until('restored')
    assert.deepEqual(
      seen.said.filter((one) => one.startsWith('refused')),
      ['refused x', 'refused y*']
    )
    assert.deepEqual([server.count('SUBSCRIBE a'), server.count('SUBSCRIBE b')], [2, 2])
    seen.mayGo = false
    forbid('a')
    server.cut()
    await until('It tries again', () => seen.said.filter((one) => one === 'refused a').length > 1)
    assert.equal(connection.isConnected, false)
    forbid()
    await seen.until('restored', 2)
    assert.equal(server.count('SUBSCRIBE x'), 4, 'nobody wants it any more')
  })

  it('that is closed is told nothing more, and connects no more, lost or not', async () => {
    const one = await open()
    one.close()
    await until('It is closed', () => server.open === 0)
    assert.equal(one.isConnected, false)
    await assert.rejects(one.publish('a', 'b'))
    const other = await open()
    server.cut()
    await seen.until('lost')
    other.close()
    const { connections: before } = server
    // Longer than the first pause before it would connect again.
    await new Promise((resolve) => setTimeout(resolve, 120))
    assert.deepEqual([server.connections - before <= 2, server.open, seen.said], [true, 0, ['lost']])
  })

  /** Opens a connection. @returns what it does at intervals, by their milliseconds, which is done when the test says so */
  async function openByHand(t: TestContext, options?: RedisOptions) {
    const tasks = new Map<number, () => void>()
    const { setInterval } = globalThis
    const kept = t.mock.method(globalThis, 'setInterval', (task: () => void, every: number) => {
      tasks.set(every, task)
      return setInterval(() => {}, 2 ** 30)
    })
    try {
      return { connection: await open(options), tasks }
    } finally {
      kept.mock.restore()
    }
  }

  it('counts a server as lost that does not answer one PING before the next, ten seconds later', async (t) => {
    const { tasks, connection } = await openByHand(t)
    const ping = async (pings: number) => {
      tasks.get(10_000)?.()
      await until('It has asked', () => server.count('PING') === pings)
    }
    for (const pings of [2, 4, 6]) {
      await ping(pings)
      // Behind the answer to PING on each connection.
      await Promise.all([connection.subscribe(`after ${pings}`), connection.publish('a', 'b')])
    }
    server.answer = ([name]) => (name === 'PING' ? '' : undefined)
    await ping(8)
    assert.deepEqual([seen.said, server.open], [[], 2])
    tasks.get(10_000)?.()
    await seen.until('lost')
    server.answer = () => undefined
    await seen.until('restored')
    assert.equal(server.count('PING'), 8)
  })

  describe('of a cluster', () => {
    let other: ScriptedServer
    /** The server with the keys of events, as both say. */
    let ours: ScriptedServer | undefined
    let host: string
    const rangeOf = (from: number, to: number, at: ScriptedServer) =>
      list(`:${from}\r\n`, `:${to}\r\n`, list(bulk(host), `:${at.port}\r\n`, bulk('id')))
    beforeEach(async () => {
      other = await start()
      ours = other
      host = '127.0.0.1'
      for (const one of servers)
        one.answer = ([name, about]) => {
          if (name === 'PUBSUB') return about === 'NUMPAT' ? ':0\r\n' : list(bulk('c'), ':0\r\n')
          if (name !== 'CLUSTER') return undefined
          const ranges = [rangeOf(0, 9_101, server), rangeOf(9_103, 16_383, server)]
          return list(...ranges, ...(ours === undefined ? [] : [rangeOf(9_102, 9_102, ours)]))
        }
    })

    it('uses the node that has the keys of events, whichever node it asks, and follows them', async () => {
      const connection = await open({ cluster: true })
      await until('It uses one node', () => server.open === 0 && other.open === 2)
      assert.equal(connection.isCluster, true)
      await connection.subscribe('a')
      assert.equal(await connection.isLeaving(), false)
      ours = server
      assert.equal(await connection.isLeaving(), true)
      await seen.until('lost')
      await seen.until('restored')
      await until('It uses the other one', () => server.open === 2 && other.open === 0)
      assert.equal(server.count('SUBSCRIBE a'), 1)
      // While no node has them, there is none to go to.
      ours = undefined
      assert.deepEqual([await connection.isLeaving(), await connection.isLeaving()], [false, false])
      ours = server
      // A node does not know its own host name, and is where it was asked.
      host = ''
      assert.equal(await connection.isLeaving(), false)
    })

    it('looks once a second whether the keys have moved', async (t) => {
      const { tasks, connection } = await openByHand(t, { cluster: true })
      const look = async () => {
        const before = other.count('CLUSTER SLOTS')
        tasks.get(1_000)?.()
        await until('It has asked', () => other.count('CLUSTER SLOTS') === before + 1)
      }
      await look()
      await connection.ping()
      assert.deepEqual(seen.said, [])
      ours = server
      await look()
      await seen.until('lost')
      await seen.until('restored')
      assert.equal(server.count('CLUSTER SLOTS') > 0, true)
    })

    it('asks the next node if one is gone, and says why if none is left', async () => {
      const gone = `redis://127.0.0.1:${await freePort()}`
      await open({ url: [gone, server.url], cluster: true })
      assert.equal(other.open, 2)
      ours = undefined
      await assert.rejects(open({ cluster: true, connectTimeout: 500 }), {
        name: 'ConnectionError',
        message: /CLUSTERDOWN No node of the cluster has the slot 9102/
      })
      await assert.rejects(open({ url: [gone], cluster: true }), { name: 'ConnectionError' })
      server.answer = ([name]) =>
        name === 'CLUSTER' ? '-ERR This instance has cluster support disabled\r\n' : undefined
      await assert.rejects(open({ cluster: true }), {
        name: 'OptionError',
        message: /is no node of a cluster; leave out options.cluster/
      })
    })

    it('knows that subscribers may be at other nodes if its own has none', async () => {
      const connection = await open({ cluster: true })
      assert.equal(await connection.mayMiss('c'), true)
      for (const [heard, globs] of [
        [1, 0],
        [0, 1]
      ]) {
        other.answer = ([name, about]) =>
          name === 'PUBSUB'
            ? about === 'NUMPAT'
              ? `:${globs}\r\n`
              : list(bulk('c'), `:${heard}\r\n`)
            : undefined
        assert.equal(await connection.mayMiss('c'), false)
      }
    })
  })
})
