/** A link to a server inside the process: what it has after its server was lost, and what it says of the loss. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { Timeouts } from '@elysia-microservices/test-support'
import type { Driver, DriverConnection, DriverListener } from '../driver.ts'
import { mqttOptions } from '../options/options.ts'
import { FakeMqttServer } from '../testing/fake-server.ts'
import { Link, type Outgoing } from './link.ts'

/** The error of a loss: all that was sent before may have been delivered. */
const LOST = { name: 'ConnectionError', mayHaveRun: true, message: /was lost/ }
/** More messages than may wait for their confirmation. */
const MANY = 2_000

let server: FakeMqttServer
let happened: string[]
const links: Link[] = []

async function open(
  clientId: string,
  url: string | readonly string[] = `mqtt://127.0.0.1:${server.port}`,
  driver = server.driver
): Promise<Link> {
  const options = mqttOptions({ url })
  const link = await Link.open(driver, options, clientId, {
    lost: (why) => happened.push(why === undefined ? 'lost' : `lost: ${why}`),
    restored: () => happened.push('restored'),
    message: (topic) => happened.push(`message ${topic}`),
    failed: ({ message }) => happened.push(`failed: ${message}`)
  })
  links.push(link)
  return link
}

async function until(what: string): Promise<void> {
  while (!happened.includes(what)) await new Promise(setImmediate)
}

const message = (topic: string, told?: Outgoing['told']): Outgoing => ({
  topic,
  payload: '1',
  qos: 1,
  ...(told && { told })
})

beforeEach(() => {
  server = new FakeMqttServer()
  happened = []
})
afterEach(async () => {
  for (const link of links.splice(0)) await link.close()
})

describe('a link to MQTT', () => {
  it('names a second connection with its clientId, and blames nobody for a server that stops', async () => {
    await open('one')
    await open('one')
    assert.match(happened[0] ?? '', /^lost: another connection with the clientId 'one' has taken its place/)
    for (const link of links.splice(0)) await link.close()
    happened = []
    await open('two')
    server.stop()
    assert.deepEqual(happened, ['lost'])
  })

  it('has its subscriptions again, except those that are refused, and says which', async () => {
    const link = await open('one')
    await link.subscribe('kept')
    await link.subscribe('refused')
    server.stop()
    server.forbidden.add('refused')
    server.start()
    await until('restored')
    link.publish(message('kept'))
    await until('message kept')
    assert.deepEqual(happened, ['lost', 'failed: Not authorized', 'restored', 'message kept'])
  })

  it('has no subscription again that was refused', async () => {
    const link = await open('one')
    server.forbidden.add('refused')
    await assert.rejects(link.subscribe('refused'), /Not authorized/)
    server.forbidden.clear()
    await link.subscribe('kept')
    server.stop()
    server.start()
    await until('restored')
    for (const topic of ['refused', 'kept']) link.publish(message(topic))
    await until('message kept')
    assert.ok(!happened.includes('message refused'), happened.join())
  })

  it('connects to the first of its servers that can be reached', async () => {
    const url = [server.port + 1, server.port].map((port) => `mqtt://127.0.0.1:${port}`)
    const link = await open('one', url)
    assert.ok(link.isConnected)
  })

  it('has no subscription again that was ended', async () => {
    const link = await open('one')
    await link.subscribe('kept')
    await link.subscribe('ended')
    await link.unsubscribe(['ended'])
    server.stop()
    server.start()
    await until('restored')
    for (const topic of ['ended', 'kept']) link.publish(message(topic))
    await until('message kept')
    assert.ok(!happened.includes('message ended'), happened.join())
  })

  it('sends no more than the server allows until it confirms, and one more with each confirmation', async () => {
    const confirm: (() => void)[] = []
    const connection: DriverConnection = {
      isOpen: true,
      maximumPacketSize: undefined,
      receiveMaximum: 2,
      subscribe: async () => {},
      unsubscribe: async () => {},
      publish: (_, told) => void confirm.push(() => told?.(true, undefined)),
      ping: async () => {},
      end: async () => {}
    }
    const link = await open('one', undefined, { connect: async () => connection })
    for (let n = 0; n < 5; n++) link.publish(message('a'))
    assert.equal(confirm.length, 2)
    confirm[0]?.()
    assert.equal(confirm.length, 3)
    for (let n = 1; n < 5; n++) confirm[n]?.()
    assert.equal(confirm.length, 5)
    await link.flush()
  })

  it('has no more unconfirmed than the server allows, and sends on with each confirmation', async () => {
    const link = await open('one')
    let confirmed = 0
    for (let n = 0; n < MANY; n++) link.publish(message('a', () => confirmed++))
    for (let turns = 0; confirmed < MANY && turns < 10 * MANY; turns++) await new Promise(setImmediate)
    assert.equal(confirmed, MANY)
  })

  /** A link whose connections a test answers for. */
  async function driven() {
    const confirm: (() => void)[] = []
    const pings: (() => void)[] = []
    const unanswered = new Set<(error: Error) => void>()
    const connections: { readonly listener: DriverListener; readonly connection: DriverConnection }[] = []
    const subscribing = { answer: async (_: string) => {} }
    const driver: Driver = {
      connect: async (_server, _options, _clientId, listener) => {
        let isOpen = true
        const connection: DriverConnection = {
          get isOpen() {
            return isOpen
          },
          maximumPacketSize: undefined,
          receiveMaximum: 2,
          subscribe: (filter) => subscribing.answer(filter),
          unsubscribe: async () => {},
          publish: (_packet, told) => void confirm.push(() => told?.(true, undefined)),
          ping: () =>
            new Promise<void>((resolve, reject) => {
              pings.push(resolve)
              unanswered.add(reject)
            }),
          end: async () => {}
        }
        const lost = (code?: number) => {
          isOpen = false
          for (const reject of unanswered) reject(new Error('gone'))
          listener.lost(code)
        }
        connections.push({ listener: { ...listener, lost }, connection })
        return connection
      }
    }
    const link = await open('one', undefined, driver)
    return { link, confirm, pings, connections, subscribing }
  }
  const turn = () => new Promise(setImmediate)

  it('waits at a flush for each confirmation, and for the server to have what it does not confirm', async () => {
    const { link, confirm, pings } = await driven()
    const ended: string[] = []
    const flush = (name: string, asks = false) => void link.flush(asks).then(() => ended.push(name))
    for (const topic of ['a', 'b', 'c']) link.publish(message(topic))
    flush('three')
    confirm[0]?.()
    confirm[1]?.()
    await turn()
    assert.deepEqual(ended, [])
    confirm[2]?.()
    await turn()
    assert.deepEqual([ended, pings.length], [['three'], 0])
    link.publish({ topic: 'a', payload: '1', qos: 0 })
    flush('unconfirmed')
    await turn()
    assert.deepEqual([ended, pings.length], [['three'], 1])
    pings[0]?.()
    await turn()
    assert.deepEqual(ended, ['three', 'unconfirmed'])
    flush('nothing')
    await turn()
    assert.deepEqual([ended.at(-1), pings.length], ['nothing', 1])
    flush('asked', true)
    await turn()
    assert.deepEqual([ended.at(-1), pings.length], ['nothing', 2])
    pings[1]?.()
    await turn()
    assert.equal(ended.at(-1), 'asked')
  })

  it('fails what waits for a lost server, and counts again with the next one', async () => {
    const { link, confirm, connections } = await driven()
    link.publish(message('a'))
    const unconfirmed = assert.rejects(link.flush(), LOST)
    connections[0]?.listener.lost(undefined)
    await unconfirmed
    await until('restored')
    await link.flush()
    link.publish({ topic: 'a', payload: '1', qos: 0 })
    const unanswered = assert.rejects(link.flush(), LOST)
    await turn()
    connections[1]?.listener.lost(undefined)
    await unanswered
    happened = []
    await until('restored')
    await link.flush()
    const told: string[] = []
    link.publish(message('b', () => told.push('b')))
    // The confirmation of a lost connection counts for nothing.
    confirm[0]?.()
    const flushed = link.flush().then(() => told.push('flushed'))
    await turn()
    assert.deepEqual(told, [])
    confirm.at(-1)?.()
    await flushed
    assert.deepEqual(told, ['b', 'flushed'])
  })

  it('has a subscription again that was lost with its server before it was answered', async () => {
    const { link, connections, subscribing } = await driven()
    let lose = (_: Error) => {}
    subscribing.answer = () => new Promise<void>((_, reject) => (lose = reject))
    const subscribed = assert.rejects(link.subscribe('kept'), /gone/)
    const asked: string[] = []
    subscribing.answer = async (filter) => void asked.push(filter)
    connections[0]?.listener.lost(undefined)
    lose(new Error('gone'))
    await subscribed
    await until('restored')
    assert.deepEqual(asked, ['kept'])
  })

  it('is not restored over a connection that is lost while it subscribes', async () => {
    const { link, connections, subscribing } = await driven()
    await link.subscribe('kept')
    let answer = () => {}
    subscribing.answer = () => new Promise<void>((resolve) => (answer = resolve))
    connections[0]?.listener.lost(undefined)
    while (connections.length < 2) await turn()
    await turn()
    subscribing.answer = async () => {}
    connections[1]?.listener.lost(undefined)
    answer()
    await until('restored')
    assert.deepEqual([happened, connections.length, link.isConnected], [['lost', 'restored'], 3, true])
  })

  it('pauses longer before each attempt until a connection has held, and blames another one for many brief ones', async (t) => {
    let now = 0
    t.mock.method(performance, 'now', () => now)
    t.mock.method(Math, 'random', () => 1)
    const listeners: DriverListener[] = []
    let failures = 0
    const nothing = async () => {}
    const driver: Driver = {
      connect: async (_server, _options, _clientId, listener) => {
        if (failures-- > 0) throw new Error('connect ECONNREFUSED')
        listeners.push(listener)
        const rest = { subscribe: nothing, unsubscribe: nothing, publish() {}, ping: nothing, end: nothing }
        return { isOpen: true, maximumPacketSize: undefined, receiveMaximum: undefined, ...rest }
      }
    }
    await open('one', undefined, driver)
    const lose = async () => {
      happened = []
      listeners.at(-1)?.lost(undefined)
      await until('restored')
      return happened[0]
    }
    using pauses = new Timeouts(() => 0)
    assert.deepEqual([await lose(), await lose()], ['lost', 'lost'])
    assert.match((await lose()) ?? '', /^lost: .* 'one' seems to have taken its place/)
    assert.deepEqual(pauses.begun.splice(0), [200, 400, 800])
    now += 2_001
    failures = 2
    assert.equal(await lose(), 'lost')
    assert.deepEqual(pauses.begun, [100, 200, 400])
  })

  it('connects again if a new connection is lost before the driver has given it', async () => {
    const listeners: DriverListener[] = []
    const nothing = async () => {}
    const rest = { subscribe: nothing, unsubscribe: nothing, publish() {}, ping: nothing, end: nothing }
    const driver: Driver = {
      connect: async (_server, _options, _clientId, listener) => {
        if (listeners.push(listener) === 2) listener.lost(undefined)
        return { isOpen: true, maximumPacketSize: undefined, receiveMaximum: undefined, ...rest }
      }
    }
    const link = await open('one', undefined, driver)
    using _ = new Timeouts(() => 0)
    listeners[0]?.lost(undefined)
    await until('restored')
    assert.deepEqual([listeners.length, link.isConnected], [3, true])
  })

  it('sends what needs no confirmation behind what waits for one', async () => {
    const confirm: (() => void)[] = []
    const sent: string[] = []
    const nothing = async () => {}
    const driver: Driver = {
      connect: async () => ({
        ...{ isOpen: true, maximumPacketSize: undefined, receiveMaximum: 1 },
        ...{ subscribe: nothing, unsubscribe: nothing, ping: nothing, end: nothing },
        publish: ({ topic }, told) => {
          sent.push(topic)
          if (told !== undefined) confirm.push(() => told(true, undefined))
        }
      })
    }
    const link = await open('one', undefined, driver)
    for (const topic of ['a', 'b']) link.publish(message(topic))
    link.publish({ topic: 'c', payload: '1', qos: 0 })
    assert.deepEqual(sent, ['a'])
    confirm[0]?.()
    assert.deepEqual(sent, ['a', 'b', 'c'])
    confirm[1]?.()
  })

  it('that is closed while its server is lost connects no more', async () => {
    const { link, connections } = await driven()
    connections[0]?.listener.lost(undefined)
    await link.close()
    // The longest pause before the next attempt is 200 ms.
    await new Promise((resolve) => setTimeout(resolve, 250))
    assert.equal(connections.length, 1)
  })

  it('that is closed while it connects again ends the connection when it is there', async () => {
    const ended: number[] = []
    const connects: (() => void)[] = []
    const listeners: DriverListener[] = []
    const driver: Driver = {
      connect: async (_server, _options, _clientId, listener) => {
        const number = listeners.push(listener)
        if (number > 1) await new Promise<void>((resolve) => connects.push(resolve))
        const nothing = async () => {}
        const rest = { subscribe: nothing, unsubscribe: nothing, publish() {}, ping: nothing }
        const end = async () => void ended.push(number)
        return { isOpen: true, maximumPacketSize: undefined, receiveMaximum: undefined, ...rest, end }
      }
    }
    const link = await open('one', undefined, driver)
    listeners[0]?.lost(undefined)
    while (connects.length === 0) await turn()
    await link.close()
    connects[0]?.()
    await turn()
    assert.deepEqual(ended, [2])
  })

  it('publishes again although many messages were never confirmed', async () => {
    const link = await open('one')
    server.suspend()
    for (let n = 0; n < MANY; n++) link.publish(message('a'))
    server.stop()
    server.resume()
    server.start()
    await until('restored')
    await new Promise<void>((resolve) => link.publish(message('a', () => resolve())))
    await link.flush()
  })
})
