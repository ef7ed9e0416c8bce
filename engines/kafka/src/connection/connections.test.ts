import assert from 'node:assert/strict'
import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { it } from 'node:test'
import { kafkaOptions } from '../options/options.ts'
import { Connections } from './connections.ts'
import { platformatic } from './platformatic.ts'

/** More requests than the stack has room for, if each failed within the failure of the one before. */
const MANY = 5_000

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
