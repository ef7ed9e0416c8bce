import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { type DurableRoute, durableSettings, viaOf } from '@elysia-microservices/transport/kit'
import type { NatsConnection } from '../connection/nats-connection.ts'
import { natsOptions } from '../options/options.ts'
import { OverFake } from '../testing/over-fake.ts'
import { AGAIN_STREAM, DEAD_STREAM, DUE, LATER_STREAM, WAKE } from './names.ts'
import { NatsServerStore } from './server-store.ts'

describe('the durable handlers of a service', () => {
  let over: OverFake
  let store: NatsServerStore
  let seen: unknown[]
  const ends: (() => unknown)[] = []
  beforeEach(() => {
    over = new OverFake()
    seen = []
    const context = { name: 'g', version: undefined, logger: over.logger }
    store = new NatsServerStore(natsOptions({}), context, over.clock)
  })
  afterEach(async () => {
    for (const end of ends.splice(0)) await end()
    await over.close()
  })

  function consumer(pattern: string, fails = false) {
    const durable = durableSettings({ retry: { attempts: 1 }, start: 'all' })
    const route = { kind: 'event', route: pattern, durable } satisfies DurableRoute
    const event = ({ data }: { data: unknown }) => {
      seen.push(data)
      if (fails) throw new Error('broken')
    }
    const dispatcher = { routes: () => [route], request: () => undefined, event }
    const init = { dispatcher, route, pattern, group: 'g', via: viaOf(pattern, 'g'), logger: over.logger }
    const made = store.consumer(init)
    ends.push(() => made.leave())
    return made
  }
  /** Whether the store looks for events whose time has come. */
  const looks = async (connection: NatsConnection, ...started: ReturnType<typeof consumer>[]) => {
    over.server.streams.asked.length = 0
    for (const one of started) {
      await one.start(connection)
      one.begin()
    }
    await over.settle()
    return over.server.streams.asked.includes(`stream ${LATER_STREAM}`)
  }
  const isTold = (pattern: string) => over.server.streams.clients.hears(`${WAKE}.${pattern}`)

  it('refuse patterns that JetStream cannot store', () => {
    assert.throws(() => consumer('$SYS.x'), { name: 'OptionError', path: 'pattern' })
  })

  it('are all there before events whose time has come are moved to their groups, on each connection', async () => {
    const [one, other] = [consumer('a'), consumer('b')]
    for (let times = 0; times < 2; times++) {
      const connection = await over.connect()
      await store.attach(connection)
      assert.deepEqual([await looks(connection, one), isTold('a')], [false, false])
      assert.deepEqual([await looks(connection, other), isTold('a'), isTold('b')], [true, true, true])
      store.detach()
      assert.equal(isTold('a') || isTold('b'), false)
      await one.leave()
      await other.leave()
      await connection.close()
    }
  })

  it('ask for events when they have begun, and not before, nor if they were stopped while they started', async () => {
    const connection = await over.connect()
    const [one, other] = [consumer('a'), consumer('b')]
    await store.attach(connection)
    const requests = (pattern: string) => [
      over.infoOf(pattern).num_waiting,
      over.server.streams.find(AGAIN_STREAM).consumer(`g_${pattern}`).info.num_waiting
    ]
    await one.start(connection)
    await over.settle()
    assert.deepEqual(requests('a'), [0, 0])
    one.begin()
    await over.settle()
    assert.deepEqual(requests('a'), [1, 1])
    const starting = other.start(connection)
    await other.stop()
    await starting
    other.begin()
    await over.settle()
    assert.deepEqual(requests('b'), [0, 0])
  })

  it('look for events whose time has come when their server is back, and not when they have stopped', async () => {
    const connection = await over.connect()
    const one = consumer('a')
    await store.attach(connection)
    await looks(connection, one)
    over.server.streams.asked.length = 0
    store.restored()
    await over.settle()
    assert.ok(over.server.streams.asked.includes(`stream ${LATER_STREAM}`))
    store.close()
    assert.equal(isTold('a'), false)
    assert.equal(await looks(connection), false)
  })

  it('store dead letters, and events whose time has come, also if the streams for them are gone', async () => {
    const client = await over.open()
    const connection = await over.connect()
    await store.attach(connection)
    await looks(connection, consumer('a', true), consumer('b'))
    over.server.streams.delete(DEAD_STREAM)
    await client.publish('a', 1)
    await over.until(() => {
      try {
        return over.server.streams.find(DEAD_STREAM).messages.length === 1
      } catch {
        return false
      }
    })
    await client.publish('b', 2, { delay: 1_000 })
    over.server.streams.delete('b')
    await over.pass(2_000)
    const left = () => over.server.streams.find(LATER_STREAM).infoOn(`${DUE}.>`).state.subjects
    await over.until(() => Object.keys(left() ?? {}).length === 0)
    assert.equal(over.server.streams.find('b').messages.length, 1)
  })

  it('have their dead letters stored after their server was lost while it was to store them', async () => {
    const connection = await over.connect({ restored: () => store.restored() })
    await store.attach(connection)
    await looks(connection, consumer('a', true))
    const client = await over.open()
    await client.publish('p', 0)
    over.server.streams.refusesMessage = (subject) => {
      if (!subject.startsWith('_ELYSIA.DEAD')) return undefined
      over.server.streams.refusesMessage = () => undefined
      over.server.cut()
      return undefined
    }
    await client.publish('a', 1)
    await over.until(() => over.server.streams.find(DEAD_STREAM).messages.length === 1)
    assert.deepEqual(seen, [1])
  })
})
