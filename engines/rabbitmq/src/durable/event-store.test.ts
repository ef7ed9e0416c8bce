import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import type { CarrierListener, Publisher, Store } from '@elysia-microservices/engine'
import { Timeouts } from '@elysia-microservices/test-support'
import { RabbitConnection } from '../connection/rabbit-connection.ts'
import { rabbitmqOptions } from '../options/options.ts'
import { FakeRabbitServer } from '../testing/fake-server.ts'
import { CALLS, exchangeOf, queueOfDead, STORED } from '../words/names.ts'
import { Copies } from './copies.ts'
import { EventStore } from './event-store.ts'
import { safeQueue } from './queues.ts'
import { HEADER, optionsOf, type StoredMessage } from './stored.ts'

const NOTHING = () => {}
const LISTENER: CarrierListener = {
  lost: NOTHING,
  restored: NOTHING,
  refused: NOTHING,
  unpublished: NOTHING,
  failed: NOTHING,
  ended: NOTHING
}

let server: FakeRabbitServer
let connection: RabbitConnection

async function settled(): Promise<void> {
  for (let quiet = 0; quiet < 5; ) {
    await new Promise(setImmediate)
    quiet = [...server.channels].some(({ isBusy }) => isBusy) ? 0 : quiet + 1
  }
}

const textsIn = (queue: string) => server.queues.get(queue)?.messages.map(({ content }) => String(content))

beforeEach(async () => {
  server = new FakeRabbitServer()
  const options = rabbitmqOptions({ url: 'amqp://127.0.0.1' })
  connection = await RabbitConnection.open(server.driver, options, undefined, LISTENER)
})
afterEach(() => connection.link.close())

describe('the event store', () => {
  let store: Store<StoredMessage>
  let told: unknown[][]

  const publisher = {
    attach: (given: Store<StoredMessage>) => {
      store = given
    },
    stored: (number: number) => told.push(['stored', number]),
    refused: (number: number, error: Error, isForNow: boolean) =>
      told.push(['refused', number, error.message, isForNow]),
    restored: () => told.push(['restored'])
  } as unknown as Publisher<StoredMessage>

  beforeEach(async () => {
    told = []
    await EventStore.attach(connection, publisher)
  })

  function append(number: number): void {
    const payload = Buffer.from(`event ${number}`)
    const head = { id: `e${number}`, isOwnId: true } as Parameters<typeof optionsOf>[0]
    const options = optionsOf(head, undefined, undefined)
    store.append({ address: 'p', payload, options } as unknown as StoredMessage, number)
  }

  function group(name: string, exchange = STORED): void {
    const queue = server.declareQueue(name, safeQueue(), connection)
    server.bind(exchange, { key: 'p', to: queue })
  }

  it('tells of each event that all groups have stored it, in order', async () => {
    group('one')
    group('other')
    for (const number of [0, 1]) append(number)
    assert.deepEqual(told, [])
    await settled()
    assert.deepEqual(told, [
      ['stored', 0],
      ['stored', 1]
    ])
    for (const queue of ['one', 'other']) assert.deepEqual(textsIn(queue), ['event 0', 'event 1'])
  })

  it('takes events as large as the messages of its connection', () => {
    assert.equal(store.maxPayload, connection.maxPayload)
    assert.ok(store.maxPayload > 0)
  })

  it('refuses for good what no group stores, and only that', async () => {
    append(0)
    await settled()
    group('one')
    append(1)
    await settled()
    assert.match(String(told[0]?.[2]), /^No group stores the event 'p'/)
    assert.deepEqual(told[0]?.[3], false)
    assert.deepEqual(told[1], ['stored', 1])
  })

  it('refuses for now what a full queue cannot take, and what a closed channel has lost, and says why', async () => {
    group('one')
    server.full.add('one')
    append(0)
    await settled()
    server.full.clear()
    server.forbidden.add(STORED)
    append(1)
    await settled()
    assert.match(String(told[0]?.[2]), /the queue of a group is full/)
    assert.match(String(told[1]?.[2]), /it has closed the channel: .*ACCESS_REFUSED/)
    assert.deepEqual([told[0]?.[3], told[1]?.[3]], [true, true])
  })

  it('refuses nothing that was on its way over a channel that it has replaced: it is sent again', async () => {
    const answers: ((error: unknown) => void)[] = []
    const channelOf = () => ({
      whenReturned: NOTHING,
      publish: (_to: string, _key: string, _content: Buffer, _: unknown, answer: (error: unknown) => void) =>
        void answers.push(answer)
    })
    const part = { channel: channelOf() }
    const link = {
      open: async (setUp: (channel: unknown) => Promise<unknown>) => {
        await setUp(part.channel)
        return part
      }
    }
    await EventStore.attach(
      { link, isConnected: true, tell: NOTHING } as unknown as RabbitConnection,
      publisher
    )
    append(0)
    part.channel = channelOf()
    answers[0]?.(new Error('the channel was lost'))
    assert.equal(told.length, 0)
    append(1)
    answers[1]?.(new Error('the queue is full'))
    assert.deepEqual(
      told.map(([what, number]) => [what, number]),
      [['refused', 1]]
    )
  })

  it('sends an event once to handlers that are not durable, however often it is stored', async () => {
    group('one')
    group('plain', CALLS)
    for (const number of [0, 0, 1]) append(number)
    await settled()
    assert.deepEqual(textsIn('plain'), ['event 0', 'event 1'])
    assert.deepEqual(textsIn('one'), ['event 0', 'event 0', 'event 1'])
  })

  it('says that it can store again, after its channel was lost alone', async () => {
    for (const channel of server.channels) channel.lose(new Error('closed by a test'))
    assert.equal(store.isConnected, false)
    while (!store.isConnected || !told.some(([what]) => what === 'restored')) await new Promise(setImmediate)
    group('one')
    append(0)
    await settled()
    assert.deepEqual(told.at(-1), ['stored', 0])
  })
})

describe('a copy of an event', () => {
  const LOGGER = { error: NOTHING, warn: NOTHING }
  const DEAD = queueOfDead('g')
  const options = { mandatory: true, persistent: true, headers: { [HEADER.unique]: 'e' } }
  const put = async (queue: string) =>
    (await Copies.open(connection.link, LOGGER)).put('g', queue, Buffer.from('x'), options)

  beforeEach(() => server.declareExchange(exchangeOf('g'), 'direct'))

  it('is stored when the server has said so', async () => {
    const queue = server.declareQueue(DEAD, safeQueue(), connection)
    server.bind(exchangeOf('g'), { key: DEAD, to: queue })
    await put(DEAD)
    assert.deepEqual(textsIn(DEAD), ['x'])
  })

  it('that is not confirmed in time is waited for, while later ones go over another channel', async () => {
    const lines: string[] = []
    const say = (line: string) => void lines.push(line)
    const copies = await Copies.open(connection.link, { error: say, warn: say })
    const queue = server.declareQueue(DEAD, safeQueue(), connection)
    server.bind(exchangeOf('g'), { key: DEAD, to: queue })
    const { heartbeat } = connection.link
    using timeouts = new Timeouts((milliseconds) => (milliseconds === heartbeat ? 'held' : milliseconds))
    const before = new Set(server.channels)
    server.suspend()
    const stored = copies.put('g', DEAD, Buffer.from('x'), options)
    timeouts.pass()
    while (server.channels.size === before.size) await new Promise(setImmediate)
    assert.match(lines.join(), new RegExp(`not confirmed within ${heartbeat} ms .* in '${DEAD}'`))
    server.resume()
    await stored
    await copies.put('g', DEAD, Buffer.from('y'), { ...options, headers: { [HEADER.unique]: 'f' } })
    await settled()
    assert.deepEqual(textsIn(DEAD), ['x', 'y'])
    assert.equal(server.channels.size, before.size, 'The silent channel stays open')
  })

  it('that is late together with others has one other channel opened for all of them', async () => {
    const copies = await Copies.open(connection.link, LOGGER)
    const queue = server.declareQueue(DEAD, safeQueue(), connection)
    server.bind(exchangeOf('g'), { key: DEAD, to: queue })
    const { heartbeat } = connection.link
    using timeouts = new Timeouts((milliseconds) => (milliseconds === heartbeat ? 'held' : milliseconds))
    const before = server.channels.size
    server.suspend()
    const stored = ['x', 'y'].map((text) =>
      copies.put('g', DEAD, Buffer.from(text), { ...options, headers: { [HEADER.unique]: text } })
    )
    for (const _ of stored) timeouts.pass()
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
    assert.equal(server.channels.size, before + 1)
    server.resume()
    await Promise.all(stored)
    assert.deepEqual(textsIn(DEAD), ['x', 'y'])
  })

  it('is not stored in a queue that does not exist, or that is full', async () => {
    await assert.rejects(put(DEAD), { name: 'NotStoredError', message: /has no queue '_elysia\.dead\.g'/ })
    const queue = server.declareQueue(DEAD, safeQueue(), connection)
    server.bind(exchangeOf('g'), { key: DEAD, to: queue })
    server.full.add(DEAD)
    await assert.rejects(put(DEAD), {
      name: 'NotStoredError',
      message: /does not store a message in '_elysia\.dead\.g' now/
    })
  })
})
