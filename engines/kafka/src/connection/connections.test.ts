import assert from 'node:assert/strict'
import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { it } from 'node:test'
import type { Driver } from '../driver.ts'
import { kafkaOptions } from '../options/options.ts'
import { Connections } from './connections.ts'
import { platformatic } from './platformatic.ts'

/** More requests than the stack has room for, if each failed within the failure of the one before. */
const MANY = 5_000

/** Connections over a driver whose attempts a test ends. */
function attempts() {
  const made: { end(error?: Error): void; closed(): void }[] = []
  let lost = 0
  const driver = {
    connect: (broker: unknown, _options: unknown, _id: unknown, closed: () => void) =>
      new Promise((resolve, reject) => {
        const connection = { broker, destroy() {}, close: async () => {} }
        made.push({ end: (error) => (error === undefined ? resolve(connection) : reject(error)), closed })
      })
  } as unknown as Driver
  const connections = new Connections(driver, kafkaOptions({}), 'test', () => void lost++)
  const connect = () => connections.connect('main', { host: '127.0.0.1', port: 1 })
  return { made, connect, connections, losses: () => lost }
}

it('an attempt that has failed is forgotten, and the next one is another', async () => {
  const { made, connect } = attempts()
  const first = connect()
  assert.equal(connect(), first)
  made[0]?.end(new Error('refused'))
  await assert.rejects(first, /refused/)
  const second = connect()
  made[1]?.end()
  await second
  assert.deepEqual([made.length, connect()], [2, second])
})

it('a connection that ends is replaced, and is lost only if somebody waits for its answer', async () => {
  const { made, connect, connections, losses } = attempts()
  const idle = connect()
  made[0]?.end()
  await idle
  made[0]?.closed()
  assert.equal(losses(), 0)
  const busy = connect()
  made[1]?.end()
  const asked = connections.ask(await busy, () => new Promise(() => {}), 60_000)
  made[1]?.closed()
  // The first one has ended before.
  made[0]?.closed()
  assert.equal(losses(), 1)
  void asked
  connect()
  assert.equal(made.length, 3)
})

it('a connection that ends is lost as long as one of its requests waits, whichever was answered', async () => {
  const { made, connect, connections, losses } = attempts()
  const opening = connect()
  made[0]?.end()
  const connection = await opening
  let answer = () => {}
  const first = connections.ask(connection, () => new Promise<void>((resolve) => (answer = resolve)), 60_000)
  void connections.ask(connection, () => new Promise(() => {}), 60_000)
  answer()
  await first
  made[0]?.closed()
  assert.equal(losses(), 1)
})

it('a connection without answers fails all its requests, however many they are', {
  timeout: 60_000
}, async () => {
  const server = net.createServer((socket) => socket.resume()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const connections = new Connections(platformatic, kafkaOptions({}), 'test', () => {})
  const connection = await connections.connect('main', { host: '127.0.0.1', port })
  const asking = Array.from({ length: MANY }, () =>
    connections.ask(connection, (broker) => broker.metadata([]), 100)
  )
  const outcomes = await Promise.allSettled(asking)
  assert.ok(outcomes.every(({ status }) => status === 'rejected'))
  await connections.dropAll()
  server.close()
})
