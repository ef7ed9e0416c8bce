/** A connection over a server inside the process: what the server keeps for later, and which topics are whose. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import type { Carried, CarrierListener, Subject } from '@elysia-microservices/engine'
import { mqttOptions } from '../options/options.ts'
import { FakeMqttServer } from '../testing/fake-server.ts'
import { MqttConnection } from './mqtt-connection.ts'

const REQUEST = '{"pattern":"p","data":1,"id":"7"}'

let server: FakeMqttServer
let failures: string[]
const opened: MqttConnection[] = []

async function connect(): Promise<MqttConnection> {
  const listener: CarrierListener = {
    lost() {},
    restored() {},
    refused() {},
    unpublished() {},
    failed: (error) => failures.push((error as Error).message),
    ended() {}
  }
  const options = mqttOptions({ url: `mqtt://127.0.0.1:${server.port}` })
  const connection = await MqttConnection.open(server.driver, options, `c${opened.length}`, listener)
  opened.push(connection)
  return connection
}

/** Takes messages. @returns the texts that have arrived */
async function taken(filter: string, queue?: string): Promise<string[]> {
  const texts: string[] = []
  const service = await connect()
  const subject = { address: filter, queue, isExact: !/[+#]/.test(filter) } as unknown as Subject
  await service.take([subject], (_, { address, words }: Carried) => void texts.push(`${address} ${words}`))
  await service.flush()
  return texts
}

const keep = (topic: string, payload: string) => void server.deliver({ topic, payload, qos: 1, retain: true })

beforeEach(() => {
  server = new FakeMqttServer()
  failures = []
})
afterEach(async () => {
  for (const connection of opened.splice(0)) await connection.close()
})

describe('a connection to MQTT', () => {
  it('takes kept events, except from a shared subscription', async () => {
    server.keepsForGroups = true
    keep('p', '{"pattern":"p","data":1}')
    assert.deepEqual(await taken('p'), ['p {"pattern":"p","data":1}'])
    assert.deepEqual(await taken('p', 'group'), [])
    assert.deepEqual(failures, [])
  })

  it('runs no kept request, and says where it is kept', async () => {
    keep('p', REQUEST)
    assert.deepEqual(await taken('p'), [])
    assert.match(failures.join(), /^The server keeps a request on 'p' for later subscribers/)
  })

  it('deletes what is kept by a kept event without data', async () => {
    keep('p', '{"pattern":"p","data":1}')
    const client = await connect()
    client.emit('p', '{"pattern":"p"}', undefined, { 'mqtt-retain': 'true' })
    await client.flush()
    assert.deepEqual(await taken('p'), [])
  })

  it('shows handlers of all topics nothing that belongs to the protocol', async () => {
    const texts = await taken('#')
    for (const topic of ['_elysia/everyone', 'p/reply', 'p'])
      server.deliver({ topic, payload: '{"data":1}', qos: 0 })
    assert.deepEqual(texts, ['p {"data":1}'])
  })

  it('says that an inbox hears nothing, though the server has accepted its subscription', async () => {
    server.isDeaf = true
    const client = await connect()
    const refused: string[] = []
    client.listen(
      client.newInbox(),
      () => {},
      ({ message }) => void refused.push(message)
    )
    await client.flush()
    assert.deepEqual(refused, ['The server has no subscriber there'])
  })
})
