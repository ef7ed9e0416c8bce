/** The server of a store over connections that tests lose and end. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { pause } from '@elysia-microservices/test-support'
import { ManualClock } from '@elysia-microservices/transport'
import {
  ConnectionError,
  type Dispatcher,
  durableSettings,
  STORES_EVERYTHING
} from '@elysia-microservices/transport/kit'
import type { CarrierListener } from '../carrier.ts'
import type { StoreConnection } from './store-engine.ts'
import { ConnectedStoreServer } from './store-server.ts'

/** A connection, numbered from 1, and who is told of its losses. */
interface Opened extends StoreConnection {
  readonly number: number
  readonly listener: CarrierListener
}

/** A store with one durable handler, which tells what happens to it. */
class Scene {
  readonly opened: Opened[] = []
  /** The events of its life: calls of the handler's consumer, closed connections, and lines of the log. */
  readonly happened: string[] = []
  /** How often the runs of the consumer were cut. */
  cuts = 0
  /** Of the consumer: the number of runs, and why it gets no events. */
  running = 0
  missing: string | undefined
  readonly clock = new ManualClock()
  /** Happens while the consumer starts. */
  starting = async (_: Opened): Promise<void> => {}
  /** Happens while the consumer stops. */
  stopping = async (): Promise<void> => {}
  readonly server: ConnectedStoreServer<Opened>

  constructor() {
    const scene = this
    const write = (line: string) => void this.happened.push(line)
    const tell = (word: string) => async () => void this.happened.push(word)
    const logger = { error: write, warn: write }
    this.server = new ConnectedStoreServer<Opened>(
      {
        name: 'shop',
        stores: STORES_EVERYTHING,
        engine: () => ({
          name: 'shop',
          title: 'SHOP',
          where: 'shop:1',
          whyNot: () => undefined,
          open: async (listener) => this.#open(listener)
        }),
        serverStore: () => ({
          attach: async () => {},
          restored() {},
          detach() {},
          close() {},
          consumer: ({ pattern, group }) => ({
            get running() {
              return scene.running
            },
            get figures() {
              const figures = { pattern, group, lag: 0, deadLetters: 0, redeliveries: 0, isPaused: false }
              return { ...figures, ...(scene.missing !== undefined && { unavailable: scene.missing }) }
            },
            start: async (connection) => {
              this.happened.push(`starts over ${connection.number}`)
              await this.starting(connection)
            },
            begin: () => void this.happened.push('begins'),
            lost: tell('lost'),
            restored: tell('restored'),
            leave: tell('leaves'),
            stop: async () => {
              await this.stopping()
              this.happened.push('stops')
            },
            cut: () => void this.cuts++
          })
        }),
        clientStore: () => assert.fail('There is no client')
      },
      { name: 'orders', version: undefined, logger },
      this.clock
    )
  }

  #open(listener: CarrierListener): Opened {
    const number = this.opened.length + 1
    const close = async () => void this.happened.push(`closes ${number}`)
    const connection = { number, listener, isConnected: true, server: `shop:${number}`, close }
    this.opened.push(connection)
    return connection
  }

  get last(): Opened {
    return this.opened.at(-1) as Opened
  }

  get unavailable(): string | undefined {
    return this.server.stats().unavailable
  }

  start(): Promise<void> {
    const durable = durableSettings(true)
    const dispatcher: Dispatcher = {
      routes: () => [{ kind: 'event', route: 'paid', durable }],
      request: () => undefined,
      event: () => undefined
    }
    return this.server.start(dispatcher)
  }
}

const LOST = 'The SHOP server shop:1 is lost'
/** Milliseconds within which a lost connection is restored. */
const LONG = 60_000
const ENDED = 'The connection to SHOP has ended'

describe('a service whose store', () => {
  it('is lost says so in its figures until it is back, and its handlers hear of both', async () => {
    const scene = new Scene()
    await scene.start()
    scene.last.listener.lost()
    assert.equal(scene.unavailable, LOST)
    scene.last.listener.restored()
    assert.equal(scene.unavailable, undefined)
    assert.equal(scene.cuts, 0)
    await scene.server.stop()
    assert.equal(scene.cuts, 1, 'A handler that still runs when the time to stop is over is cut')
    assert.deepEqual(scene.happened, [
      'starts over 1',
      `${LOST}; until it is back, durable handlers get no events`,
      'lost',
      'Connected to the SHOP server shop:1 again',
      'restored',
      'stops',
      'closes 1'
    ])
  })

  it('is lost while it starts forgets that loss: the next start has another connection', async () => {
    const scene = new Scene()
    scene.starting = async ({ listener }) => {
      scene.starting = async () => {}
      listener.lost()
      throw new Error('lost')
    }
    await assert.rejects(scene.start(), /lost/)
    assert.equal(scene.unavailable, undefined)
    await scene.start()
    assert.equal(scene.unavailable, undefined)
    await scene.server.stop()
    assert.deepEqual(scene.happened.slice(-4), ['stops', 'starts over 2', 'stops', 'closes 2'])
  })

  it('has started hands out events only when all of the service has started, and then over each connection', async () => {
    const scene = new Scene()
    scene.starting = async () => {
      scene.starting = async () => {}
      throw new Error('no')
    }
    await assert.rejects(scene.start(), /no/)
    scene.server.begin()
    assert.deepEqual(scene.happened, ['starts over 1', 'closes 1', 'stops'])
    await scene.start()
    assert.equal(scene.happened.includes('begins'), false)
    scene.server.begin()
    scene.server.begin()
    scene.last.listener.ended(undefined)
    await scene.clock.advance(LONG)
    await scene.server.stop()
    assert.deepEqual(scene.happened.slice(3), [
      'starts over 2',
      'begins',
      `${ENDED}; connecting again`,
      'closes 2',
      'leaves',
      'starts over 3',
      'Connected to the SHOP server shop:3 again',
      'stops',
      'closes 3'
    ])
  })

  it('stops without a wait lets a handler that does not run leave its group before its connection is closed', async () => {
    const scene = new Scene()
    await scene.start()
    scene.stopping = () => pause(20)
    await scene.server.stop({ drain: 0 })
    assert.deepEqual(scene.happened, ['starts over 1', 'stops', 'closes 1'])
  })

  it('is lost when it stops forgets that loss', async () => {
    const scene = new Scene()
    await scene.start()
    scene.last.listener.lost()
    await scene.server.stop()
    assert.equal(scene.unavailable, undefined)
  })

  it('has given up its connection gets another one: its handlers leave the first, and it says what is missing', async () => {
    const scene = new Scene()
    await scene.start()
    scene.starting = async () => {
      scene.starting = async () => {}
      throw new ConnectionError('away', true)
    }
    scene.last.listener.ended(undefined)
    assert.equal(scene.unavailable, ENDED)
    await scene.clock.advance(LONG)
    assert.equal(scene.unavailable, undefined)
    await scene.server.stop()
    assert.deepEqual(scene.happened, [
      'starts over 1',
      `${ENDED}; connecting again`,
      'closes 1',
      'leaves',
      'starts over 2',
      'SHOP does not answer about its stored events; asking again',
      'starts over 2',
      'Connected to the SHOP server shop:2 again',
      'stops',
      'closes 2'
    ])
  })

  it('has given up its connection and cannot be reached is tried again, and no handler stays with a try that failed', async () => {
    const scene = new Scene()
    await scene.start()
    scene.starting = async () => {
      scene.starting = async () => {}
      throw new Error('no')
    }
    scene.last.listener.ended(new Error('bad credentials'))
    await scene.clock.advance(LONG)
    await scene.server.stop()
    assert.deepEqual(scene.happened.slice(4), [
      'starts over 2',
      'closes 2',
      'SHOP cannot be reached; trying again',
      'leaves',
      'starts over 3',
      'Connected to the SHOP server shop:3 again',
      'stops',
      'closes 3'
    ])
  })

  it('has given up its connection opens no other one for a service that has stopped', async () => {
    const scene = new Scene()
    await scene.start()
    scene.last.listener.ended(undefined)
    await scene.clock.advance(0)
    assert.equal(scene.clock.waiting, 1, 'It waits before it connects again')
    await scene.server.stop()
    await scene.clock.advance(LONG)
    assert.equal(scene.opened.length, 1)
    assert.equal(scene.unavailable, undefined)
  })

  it('has figures of what runs and of what is missing, and says what it can', async () => {
    const scene = new Scene()
    const { server } = scene
    assert.deepEqual(
      [server.name, server.hasTransactions, server.sharing],
      ['shop', STORES_EVERYTHING.transactions, undefined]
    )
    const idle = { transport: 'shop', address: undefined, inFlight: { current: 0, limit: false }, streams: 0 }
    assert.deepEqual(server.stats(), idle)
    await scene.start()
    scene.running = 2
    scene.missing = 'its stream is gone'
    const { inFlight, unavailable, durable } = server.stats()
    assert.deepEqual([inFlight.current, unavailable, durable?.length], [2, 'its stream is gone', 1])
    scene.last.listener.lost('the password has changed')
    assert.equal(scene.unavailable, `${LOST}: the password has changed`)
    scene.missing = undefined
    scene.running = 0
    await server.stop()
    assert.deepEqual(server.stats(), idle)
  })

  it('reports something says so in its log', async () => {
    const scene = new Scene()
    await scene.start()
    scene.happened.length = 0
    const { refused, unpublished, failed } = scene.last.listener
    refused('paid', 'publish', new Error('no'))
    refused('paid', 'listen', new Error('no'))
    unpublished('paid', new Error('no'))
    failed(new Error('a bug'))
    assert.deepEqual(scene.happened, [
      "SHOP does not let this service publish to 'paid'; give its user the permission",
      "SHOP does not let this service subscribe to 'paid'; give its user the permission",
      "A message to 'paid' could not be published",
      'A message of SHOP could not be handled'
    ])
    await scene.server.stop()
  })

  it('is wanted by no durable handler is not asked at all', async () => {
    const scene = new Scene()
    await scene.server.start({ routes: () => [], request: () => undefined, event: () => undefined })
    scene.server.begin()
    await scene.server.stop()
    assert.deepEqual([scene.opened, scene.happened], [[], []])
  })
})
