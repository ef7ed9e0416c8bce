/** A connection over a server inside the process: what the server keeps for later, and which topics are whose. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import type { Carried, CarrierListener, Subject } from '@elysia-microservices/engine'
import { Timeouts } from '@elysia-microservices/test-support'
import type { Driver, DriverListener, Packet } from '../driver.ts'
import { mqttOptions } from '../options/options.ts'
import { FakeMqttServer } from '../testing/fake-server.ts'
import { MqttConnection } from './mqtt-connection.ts'

const REQUEST = '{"pattern":"p","data":1,"id":"7"}'

let server: FakeMqttServer
let failures: string[]
const opened: MqttConnection[] = []

async function connect(port = server.port, driver: Driver = server.driver): Promise<MqttConnection> {
  const listener: CarrierListener = {
    lost() {},
    restored() {},
    refused() {},
    unpublished() {},
    failed: (error) => failures.push((error as Error).message),
    ended() {}
  }
  const options = mqttOptions({ url: `mqtt://127.0.0.1:${port}` })
  const connection = await MqttConnection.open(driver, options, `c${opened.length}`, listener)
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

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate)
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
  it('holds messages while the server is lost, and sends them in order when it is back', async () => {
    const texts = await taken('a')
    const detour = server.detour(server.port + 1)
    const client = await connect(server.port + 1)
    detour.stop()
    for (const n of ['1', '2']) client.emit('a', n)
    server.detour(server.port + 1)
    await until(() => texts.length === 2)
    assert.deepEqual(texts, ['a 1', 'a 2'])
  })

  it('tells the sender of a request that nobody has subscribed, and only then', async () => {
    const client = await connect()
    const inbox = client.newInbox()
    const heard: string[] = []
    // The connection sends a message to the inbox itself, to prove that it hears.
    client.listen(inbox, ({ address, isNobody }) => {
      if (address !== inbox) heard.push(`${address === `${inbox}1`} ${isNobody}`)
    })
    await client.flush()
    client.publish('p', REQUEST, `${inbox}1`)
    await client.flush()
    assert.deepEqual(heard, ['true true'])
    const requests = await taken('p', 'q')
    client.publish('p', REQUEST, `${inbox}2`)
    await client.flush()
    assert.deepEqual([requests.length, heard.length], [1, 1])
  })

  /** A connection of whose server the test knows all that it is asked. */
  async function observed(maximumPacketSize?: number) {
    const asked: { subscribed: [string, number | undefined][]; published: Packet[]; ended: string[] } = {
      ...{ subscribed: [], published: [], ended: [] }
    }
    let confirm = (told: (() => void) | undefined) => told?.()
    const driver: Driver = {
      connect: async () => ({
        isOpen: true,
        receiveMaximum: 65_535,
        maximumPacketSize,
        publish: (packet, told) => {
          asked.published.push(packet)
          confirm(() => told?.(true, undefined))
        },
        subscribe: async (filter, id) => void asked.subscribed.push([filter, id]),
        unsubscribe: async (filters) => void asked.ended.push(filters.join()),
        ping: async () => {},
        end: async () => {}
      })
    }
    const client = await connect(server.port, driver)
    const waiting: ((() => void) | undefined)[] = []
    return {
      ...asked,
      client,
      /** From now on confirmations wait. @returns a function that lets them come */
      hold: () => {
        confirm = (told) => void waiting.push(told)
        return () => {
          confirm = (told) => told?.()
          for (const told of waiting.splice(0)) told?.()
        }
      }
    }
  }

  it('sends no larger messages than its server takes, and none without parts that are very large', async () => {
    assert.equal((await observed(1_000)).client.maxPayload, 1_000)
    assert.equal((await observed()).client.maxPayload, 16 * 1024 * 1024)
  })

  it('tells the server how long a request is of use', async () => {
    const { client, published } = await observed()
    client.publish('p', REQUEST, `${client.newInbox()}1`, undefined, 4_200)
    assert.equal(published.at(-1)?.properties?.messageExpiryInterval, 5)
  })

  it('sends an event as its headers say, and otherwise without any of that', async () => {
    const { client, published } = await observed()
    client.emit('p', '{"data":1}', undefined, {
      'mqtt-expiry': '5',
      'mqtt-qos': '2',
      'mqtt-retain': 'true',
      a: 'b'
    })
    client.emit('p', '{"data":1}')
    const [first, second] = published
    const properties = { userProperties: { a: 'b' }, messageExpiryInterval: 5 }
    assert.deepEqual([first?.qos, first?.retain, first?.properties], [2, true, properties])
    assert.deepEqual([second?.retain, second?.properties], [undefined, {}])
  })

  it('sends where only services of this library read what others cannot read, or is not meant for them', async () => {
    const { client, published } = await observed()
    const reply = `${client.newInbox()}1`
    const together = client.togetherAt('p')
    client.publish(client.everyone, '{}', reply)
    client.publish(together, '[{}]', reply)
    client.publish('p', REQUEST, reply)
    client.publish('p', Buffer.from(REQUEST), reply)
    // No packets of NestJS: a part, bytes, and a message without an answer.
    for (const words of ['x{', Buffer.from('x'), Buffer.from([0])]) client.publish('p', words, reply)
    client.publish('p', REQUEST)
    assert.deepEqual(
      published.map(({ topic }) => topic),
      [client.everyone, together, 'p', 'p', together, together, together, together]
    )
    // The server confirms what has an answer: so the sender hears if nobody has subscribed.
    assert.deepEqual(
      published.map(({ qos }) => qos),
      [1, 1, 1, 1, 1, 1, 1, 0]
    )
  })

  it('subscribes once to the answers of NestJS to a pattern', async () => {
    const { client, subscribed } = await observed()
    for (let n = 0; n < 3; n++) client.publish('p', REQUEST, `${client.newInbox()}${n}`)
    assert.deepEqual(subscribed, [['p/reply', undefined]])
  })

  it('gives each subscription a number of its own from 1 on, and events no topic of requests', async () => {
    const { client, subscribed } = await observed()
    const subjects = [
      { address: 'a/+', answers: true, isExact: false },
      { address: 'b', answers: false, isExact: true }
    ]
    await client.take(subjects as unknown as Subject[], () => {})
    assert.deepEqual(
      subscribed.map(([filter, id]) => [filter.replace(/^\$share\/[^/]+\//, ''), id]),
      [
        ['a/+', 1],
        [`${client.togetherAt('a/+')}`, 2],
        ['b', 3]
      ]
    )
  })

  it('ends no subscription that it does not have', async () => {
    const { client, ended } = await observed()
    await client.leave()
    assert.deepEqual(ended, [])
    await client.take([{ address: 'a', answers: false, isExact: true }] as unknown as Subject[], () => {})
    await client.leave()
    assert.equal(ended.length, 1)
  })

  it('hears answers of NestJS to its own calls, and passes over those of others', async () => {
    const client = await connect()
    const inbox = client.newInbox()
    const heard: string[] = []
    client.listen(inbox, ({ address, words }) => {
      if (address !== inbox) heard.push(`${address.slice(inbox.length)} ${words}`)
    })
    await client.flush()
    client.publish('p', REQUEST, `${inbox}1`)
    await client.flush()
    heard.length = 0
    // It hears what is meant for all services, too, but not from there.
    client.listen(client.everyone, () => void heard.push('everyone'))
    await client.flush()
    const answer = (id: string) => `{"id":"${id}","response":1}`
    for (const id of ['of a stranger', `${client.everyone}.1`, `${inbox}1`])
      server.deliver({ topic: 'p/reply', payload: answer(id), qos: 0 })
    await until(() => heard.some((one) => one.startsWith('1 ')))
    assert.deepEqual([heard, failures], [[`1 ${answer(`${inbox}1`)}`], []])
  })

  it('lets senders wait while its server has much that it has not confirmed, and go on then', async () => {
    const { client, hold } = await observed()
    const go = hold()
    let resumed = 0
    const sender = { resume: () => void resumed++ }
    assert.equal(client.hasRoomFor(sender), true)
    client.emit('a', 'x'.repeat(1024 * 1024))
    const hadRoom = client.hasRoomFor(sender)
    go()
    assert.equal(hadRoom, false)
    await until(() => resumed === 1)
    assert.equal(client.hasRoomFor(sender), true)
  })

  it('lets senders go on that have waited for a server that was lost', async () => {
    const client = await connect()
    let resumed = 0
    server.stop()
    assert.equal(client.hasRoomFor({ resume: () => void resumed++ }), false)
    server.start()
    await until(() => resumed === 1)
  })

  it('hears the answers of NestJS to the last of its calls, and no more those of patterns called long ago', async () => {
    const ended: string[] = []
    const driver: Driver = {
      connect: async () => ({
        isOpen: true,
        receiveMaximum: 65_535,
        maximumPacketSize: undefined,
        publish: (_, told) => told?.(true, undefined),
        subscribe: async () => {},
        unsubscribe: async (filters) => void ended.push(...filters),
        ping: async () => {},
        end: async () => {}
      })
    }
    const client = await connect(server.port, driver)
    // Two more than the topics of answers to which a client subscribes at a time.
    for (let n = 0; n < 8_194; n++) {
      client.publish(`p${n}`, REQUEST, `${client.newInbox()}1`)
      if (n === 100) client.publish('p0', REQUEST, `${client.newInbox()}1`)
    }
    await client.flush()
    assert.deepEqual(ended, ['p1/reply', 'p2/reply'])
  })

  it('carries the address of the message and the reply address to an inbox', async () => {
    const [one, other] = [await connect(), await connect()]
    const [here, there] = [one.newInbox(), other.newInbox()]
    const heard: string[][] = []
    other.listen(there, ({ address, reply }) => {
      if (address !== there) heard.push([address, reply])
    })
    await other.flush()
    one.publish(`${there}call`, 'x', `${here}back`)
    one.publish(`${there}last`, 'x')
    await until(() => heard.length === 2)
    assert.deepEqual(heard, [
      [`${there}call`, `${here}back`],
      [`${there}last`, '']
    ])
  })

  it('gives an event to each pattern that matches, once', async () => {
    const service = await connect()
    const seen: string[] = []
    const subjects = ['a/b', 'a/+'].map((address) => ({ address, isExact: !address.includes('+') }))
    await service.take(subjects as unknown as Subject[], ({ address }) => void seen.push(address))
    service.emit('a/b', '{"data":1}')
    await until(() => seen.length >= 2)
    await service.flush()
    assert.deepEqual(seen.sort(), ['a/+', 'a/b'])
  })

  it('gives an event to each pattern that matches, also if the server sends one message for all of them', async () => {
    let receive: DriverListener['message'] = () => {}
    const nothing = async () => {}
    const rest = { subscribe: nothing, unsubscribe: nothing, publish() {}, ping: nothing, end: nothing }
    const driver: Driver = {
      connect: async (_server, _options, _clientId, { message }) => {
        receive = message
        return { isOpen: true, maximumPacketSize: undefined, receiveMaximum: undefined, ...rest }
      }
    }
    const service = await connect(server.port, driver)
    const seen: string[] = []
    const subjects = ['a/b', 'a/+', 'a/#'].map((address) => ({ address, isExact: address === 'a/b' }))
    await service.take(subjects as unknown as Subject[], ({ address }) => void seen.push(address))
    const packet = { retain: false, properties: { subscriptionIdentifier: [1, 3, 9] } }
    receive('a/b', Buffer.from('{"data":1}'), packet)
    assert.deepEqual(seen, ['a/b', 'a/#'])
    await service.leave()
    receive('a/b', Buffer.from('{"data":1}'), packet)
    assert.equal(seen.length, 2, 'It has left')
  })

  it('is refused nothing by a server that is lost while it begins to listen', async () => {
    const client = await connect()
    const refused: string[] = []
    // Nobody waits for the pauses before the server is looked for.
    using _ = new Timeouts((milliseconds) => (milliseconds <= 2_000 ? 0 : milliseconds))
    // Before the subscription is answered, and before the proof that it is heard has come.
    for (let turns = 0; turns < 6; turns++) {
      const inbox = client.newInbox()
      client.listen(
        inbox,
        () => {},
        ({ message }) => void refused.push(message)
      )
      for (let turn = 0; turn < turns; turn++) await new Promise((go) => server.later(() => go(undefined)))
      server.cut()
      await until(() => client.isConnected)
      await client.flush()
    }
    assert.deepEqual(refused, [])
  })

  it('sends all that it was given before it closes, also what waits until the server has confirmed more', async () => {
    const texts = await taken('p', 'q')
    const client = await connect()
    const inbox = client.newInbox()
    // More than may be unconfirmed.
    for (let n = 0; n < 1_500; n++) client.publish('p', REQUEST, `${inbox}${n}`)
    await client.close()
    for (let turns = 0; texts.length < 1_500 && turns < 100; turns++) await new Promise(setImmediate)
    assert.equal(texts.length, 1_500)
  })

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
    const properties = { responseTopic: 'devices/1' }
    server.deliver({ topic: 'd', payload: '1', qos: 1, retain: true, properties })
    assert.deepEqual(await taken('d'), [])
    assert.match(failures.at(-1) ?? '', /^The server keeps a request on 'd'/)
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
    await new Promise<void>((go) => server.later(go))
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
