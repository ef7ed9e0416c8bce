/** A link to a server inside the process: what it has after its server was lost, and what it says of the loss. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import type { DriverConnection } from '../driver.ts'
import { mqttOptions } from '../options/options.ts'
import { FakeMqttServer } from '../testing/fake-server.ts'
import { Link, type Outgoing } from './link.ts'

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
