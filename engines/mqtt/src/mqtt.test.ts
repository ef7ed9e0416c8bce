/** MQTT as a transport: its abilities, and which processes of a service share. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, it } from 'node:test'
import type { Dispatcher, Transport } from '@elysia-microservices/transport/kit'
import { fromNest } from './from-nest.ts'
import { mqtt } from './mqtt.ts'
import { MqttSocketServer } from './testing/socket-server.ts'

const LOGGER = { error() {}, warn() {} }
const DISPATCHER: Dispatcher = {
  routes: () => [
    { kind: 'message', route: 'asked' },
    { kind: 'event', route: 'told' }
  ],
  request: () => undefined,
  event() {}
}

let server: MqttSocketServer
beforeEach(async () => {
  server = new MqttSocketServer()
  await server.listen()
})
afterEach(() => server.close())

/** All services that can answer share requests, whatever their names. */
const ASKED = '$share/elysia-microservices/asked'

/** The filters to which a service subscribes, without those of this library alone. */
async function filtersOf(transport: Transport, group?: string): Promise<string[]> {
  const before = server.received.length
  const service = transport.server({ name: 'n', version: undefined, logger: LOGGER, ...(group && { group }) })
  await service.start(DISPATCHER)
  await service.stop()
  return server.received
    .slice(before)
    .flatMap((packet) => (packet.cmd === 'subscribe' ? packet.subscriptions.map(({ topic }) => topic) : []))
    .filter((topic) => !topic.includes('_elysia'))
    .sort((one, other) => Number(one.endsWith('asked')) - Number(other.endsWith('asked')))
}

it('can do what its page says', () => {
  assert.deepEqual(mqtt().traits, {
    wildcards: false,
    levels: true,
    hearsNobody: true,
    shares: 'engine',
    headers: true,
    channels: true,
    answerHeaders: true
  })
})

it('gives an event to one process of a service, unless every process is to get it', async () => {
  const { url } = server
  assert.deepEqual(await filtersOf(mqtt({ url })), ['$share/n/told', ASKED])
  assert.deepEqual(await filtersOf(mqtt({ url, events: 'every-process' })), ['told', ASKED])
})

it('with the options of NestJS gives every process each event, unless the service has a group or a name', async () => {
  const { url } = server
  assert.deepEqual(await filtersOf(fromNest({ url }).transport), ['told', ASKED])
  assert.deepEqual(await filtersOf(fromNest({ url }, true).transport), ['$share/n/told', ASKED])
})

it('names a connection after its service, or as its options say', async () => {
  const { url } = server
  const context = { version: undefined, logger: LOGGER }
  for (const clientId of [undefined, 'mine']) {
    const transport = mqtt({ url, clientId, events: 'every-process' })
    for (const name of ['a b', undefined]) {
      const service = transport.server({ ...context, name })
      await service.start(DISPATCHER)
      await service.stop()
    }
    const client = transport.client({ logger: LOGGER, timeout: 0, dispatcher: undefined })
    await client.connect()
    await client.close()
  }
  const ids = server.of('connect').map(({ clientId }) => clientId.replace(/-[a-z2-7]{12,}$/, ' and a secret'))
  const named = ['a-b', 'service', 'client'].map((name) => `${name} and a secret`)
  assert.deepEqual(ids, [...named, 'mine', 'mine', 'mine'])
})
