/** mqtt.js over a socket: the cases that every driver keeps, and what only this one does. */
import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { Timeouts } from '@elysia-microservices/test-support'
import type { DriverConnection, DriverListener } from '../driver.ts'
import { type MqttOptions, mqttOptions } from '../options/options.ts'
import { driverCases } from '../testing/driver-cases.ts'
import { MqttSocketServer } from '../testing/socket-server.ts'
import { mqttjs } from './mqttjs.ts'

const shared = new MqttSocketServer()
before(() => shared.listen())
after(() => shared.close())
driverCases('a socket, by mqtt.js', async () => ({
  driver: mqttjs,
  url: shared.url,
  async restart() {
    shared.fake.stop()
    shared.fake.start()
  }
}))

describe('mqtt.js', () => {
  let server: MqttSocketServer
  let happened: string[]
  /** Is called with each message; a test replaces it. */
  let answer = () => {}
  const opened: DriverConnection[] = []

  beforeEach(async () => {
    server = new MqttSocketServer()
    happened = []
    answer = () => {}
    await server.listen()
  })
  afterEach(async () => {
    for (const connection of opened.splice(0)) await connection.end()
    await server.close()
  })

  async function connect(given: MqttOptions = {}, signal?: AbortSignal): Promise<DriverConnection> {
    const options = mqttOptions({ url: server.url, ...given })
    const listener: DriverListener = {
      signal,
      message: (topic, bytes) => {
        happened.push(`${topic} ${bytes}`)
        answer()
      },
      lost: (code) => happened.push(`lost ${code}`)
    }
    const clientId = `c${opened.length}`
    const connection = await mqttjs.connect(options.servers[0]!, options, clientId, listener)
    opened.push(connection)
    return connection
  }

  async function until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise(setImmediate)
  }

  const published = () => server.of('publish').map(({ topic, payload }) => `${topic} ${payload}`)

  it('says who it is, that it keeps no session, and how often it gives a sign of life', async () => {
    await connect({ username: 'u', password: 'p', heartbeat: 2_600 })
    const [{ clientId, protocolVersion, clean, keepalive, username, password, will, properties } = {}] =
      server.of('connect')
    assert.deepEqual(
      [clientId, protocolVersion, clean, keepalive, username, String(password), will, properties],
      ['c0', 5, true, 3, 'u', 'p', undefined, { sessionExpiryInterval: 0 }]
    )
  })

  it('gives neither a user nor a password if it has none, and a sign of life each second at most', async () => {
    await connect({ heartbeat: 100 })
    const [packet] = server.of('connect')
    assert.deepEqual([packet?.username, packet?.password, packet?.keepalive], [undefined, undefined, 1])
  })

  it('leaves its will with the server, whose session lasts until the will is published', async () => {
    await connect({ will: { pattern: 'gone', data: 7, delay: 1_500 } })
    await connect({ will: { pattern: 'gone', retain: true } })
    assert.deepEqual(
      server
        .of('connect')
        .map(({ will, properties }) => [
          ...[will?.topic, String(will?.payload), will?.qos, will?.retain],
          ...[will?.properties?.willDelayInterval, properties?.sessionExpiryInterval]
        ]),
      [
        ['gone', '{"pattern":"gone","data":7}', 1, false, 2, 2],
        ['gone', '{"pattern":"gone"}', 1, true, 0, 0]
      ]
    )
  })

  it('knows the limits that its server states, and none if it states none', async () => {
    const plain = await connect()
    assert.deepEqual([plain.maximumPacketSize, plain.receiveMaximum], [undefined, undefined])
    server.greeting = { properties: { maximumPacketSize: 1_000, receiveMaximum: 7 } }
    const limited = await connect()
    assert.deepEqual([limited.maximumPacketSize, limited.receiveMaximum], [1_000, 7])
  })

  it('sends what it writes at once', async (t) => {
    const asked: unknown[] = []
    const { setNoDelay } = Socket.prototype
    t.mock.method(Socket.prototype, 'setNoDelay', function (this: Socket, ...args: [boolean?]) {
      asked.push(args[0])
      return setNoDelay.apply(this, args)
    })
    await connect()
    assert.deepEqual(asked, [true])
  })

  it('fails with the code of a refusal', async () => {
    server.greeting = { reasonCode: 134 }
    await assert.rejects(connect(), { code: 134 })
    await until(() => server.open === 0)
  })

  it('fails if the server ends the connection instead of greeting, or does not greet in time', async () => {
    server.greeting = undefined
    const ended = assert.rejects(connect(), { message: 'the server has ended the connection' })
    await until(() => server.received.length === 1)
    server.cut()
    await ended
    const silent = assert.rejects(connect({ connectTimeout: 100 }), /100 ms/)
    await silent
    await until(() => server.open === 0)
  })

  it('gives an attempt up that is aborted, with its socket, and keeps a connection that stands', async () => {
    const abort = new AbortController()
    await connect({}, abort.signal)
    server.greeting = undefined
    const given = assert.rejects(connect({}, abort.signal), /over/)
    await until(() => server.of('connect').length === 2)
    abort.abort(new Error('over'))
    await given
    await until(() => server.open === 1)
    assert.deepEqual(happened, [])
  })

  it('subscribes with the quality of service of its options', async () => {
    await (await connect({ qos: 1 })).subscribe('a', 3)
    await (await connect()).subscribe('b', undefined)
    const found = server
      .of('subscribe')
      .map(({ subscriptions: [one], properties }) => [
        ...[one?.topic, one?.qos],
        properties?.subscriptionIdentifier
      ])
    assert.deepEqual(found, [
      ['a', 1, 3],
      ['b', 0, undefined]
    ])
  })

  it('fails a subscription that the server refuses, or that is lost before it is answered', async () => {
    const connection = await connect()
    server.fake.forbidden.add('secret')
    await assert.rejects(connection.subscribe('secret', undefined), /Not authorized/)
    server.isSilent = true
    const lost = [connection.subscribe('a', undefined), connection.unsubscribe(['b'])].map((asked) =>
      assert.rejects(asked, /closed/)
    )
    await until(() => server.of('unsubscribe').length === 1)
    server.cut()
    await Promise.all(lost)
  })

  it('can wait for many answers at once, without a warning of a leak', async () => {
    const warnings: Error[] = []
    const hear = (warning: Error) => void warnings.push(warning)
    process.on('warning', hear)
    const connection = await connect()
    await Promise.all(Array.from({ length: 30 }, (_, n) => connection.subscribe(`a/${n}`, undefined)))
    await new Promise(setImmediate)
    process.off('warning', hear)
    assert.deepEqual(warnings, [])
  })

  it('tells of each message whether it was heard or refused, by every quality of service', async () => {
    const connection = await connect()
    await connection.subscribe('heard', undefined)
    server.fake.forbidden.add('secret')
    const told: unknown[] = []
    for (const qos of [1, 2, 0] as const)
      for (const topic of ['heard', 'unheard', 'secret'])
        connection.publish({ topic, payload: '', qos }, (isHeard, refusal) =>
          told.push([qos, topic, isHeard, (refusal as { readonly code?: unknown } | undefined)?.code])
        )
    await until(() => told.length === 6)
    await connection.ping()
    assert.deepEqual(told.sort().slice(0, 3), [
      [1, 'heard', true, undefined],
      [1, 'secret', true, 135],
      [1, 'unheard', false, undefined]
    ])
    // Another message may have the number of one that nobody has heard.
    connection.publish({ topic: 'heard', payload: '', qos: 1 }, (isHeard) => told.push(isHeard))
    await until(() => told.length === 7)
    assert.equal(told[6], true)
  })

  it('publishes with retain only what is to be kept', async () => {
    const connection = await connect()
    connection.publish({ topic: 'kept', payload: '1', qos: 0, retain: true })
    const properties = { userProperties: { a: 'b' } }
    connection.publish({ topic: 'plain', payload: '1', qos: 0, properties })
    connection.publish({ topic: 'sure', payload: '1', qos: 1, properties })
    await until(() => server.of('publish').length === 3)
    assert.deepEqual(
      server
        .of('publish')
        .map(({ topic, retain, qos, properties }) => [
          ...[topic, retain, qos],
          { ...properties?.userProperties }
        ]),
      [
        ['kept', true, 0, {}],
        ['plain', false, 0, { a: 'b' }],
        ['sure', false, 1, { a: 'b' }]
      ]
    )
  })

  it('tells nothing of a message that was not confirmed before its connection was lost or ended', async () => {
    const lost = await connect()
    const ended = await connect()
    server.isSilent = true
    const told: unknown[] = []
    for (const connection of [lost, ended])
      connection.publish({ topic: 'a', payload: '', qos: 1 }, (...answer) => told.push(answer))
    using _ = new Timeouts((milliseconds) => (milliseconds === 1_000 ? 0 : milliseconds))
    await ended.end()
    server.cut()
    await until(() => happened.length === 1)
    assert.deepEqual([told, happened], [[], ['lost undefined']])
  })

  it('tells the answers to PING apart, also from those that the driver sends on its own', async () => {
    const connection = await connect()
    server.isSilent = true
    const answered: string[] = []
    ;(connection as unknown as { readonly ping: () => Promise<void> })
      .ping()
      .then(() => answered.push('first'))
    await until(() => server.of('pingreq').length === 1)
    void connection.ping().then(() => answered.push('second'))
    await until(() => server.of('pingreq').length === 2)
    server.send({ cmd: 'pingresp' })
    await until(() => answered.length > 0)
    assert.deepEqual(answered, ['first'])
    server.send({ cmd: 'pingresp' })
    await until(() => answered.length > 1)
    assert.deepEqual(answered, ['first', 'second'])
  })

  it('fails a PING that is not answered before the connection is lost, and each later one', async () => {
    const connection = await connect()
    server.isSilent = true
    const lost = assert.rejects(connection.ping(), { name: 'ConnectionError', mayHaveRun: true })
    await until(() => server.of('pingreq').length === 1)
    server.cut()
    await lost
    assert.equal(connection.isOpen, false)
    await assert.rejects(connection.ping(), { name: 'ConnectionError', mayHaveRun: true })
  })

  it('tells nothing of a message that is published while the connection ends', async () => {
    const connection = await connect()
    const ending = connection.end()
    const told: unknown[] = []
    connection.publish({ topic: 'a', payload: '', qos: 1 }, (...answer) => told.push(answer))
    await ending
    assert.deepEqual(told, [])
  })

  it('does not connect again by itself', async (t) => {
    const connection = await connect()
    const repeated = t.mock.method(globalThis, 'setInterval')
    server.cut()
    await until(() => happened.length > 0)
    await new Promise(setImmediate)
    assert.deepEqual([repeated.mock.callCount(), connection.isOpen], [0, false])
  })

  it('tells once that the connection is lost, with the reason that the server gave', async () => {
    const connection = await connect()
    server.send({ cmd: 'disconnect', reasonCode: 139 })
    server.cut()
    await until(() => !connection.isOpen && happened.length > 0)
    await new Promise(setImmediate)
    assert.deepEqual(happened, ['lost 139'])
  })

  it('ends with a word to its server, and is not open from then on', async () => {
    const connection = await connect()
    const ending = connection.end()
    assert.equal(connection.isOpen, false)
    await ending
    await until(() => server.open === 0)
    assert.deepEqual([server.of('disconnect').length, happened], [1, []])
  })

  it('ends with its socket although the server does not end it', async () => {
    const connection = await connect()
    server.isSilent = true
    using timeouts = new Timeouts((milliseconds) => (milliseconds === 1_000 ? 0 : milliseconds))
    await connection.end()
    assert.ok(timeouts.begun.includes(1_000))
    await until(() => server.open === 0)
  })

  describe('sends a small packet for servers that collect what they write', () => {
    const NOTHING = '_elysia/nothing '
    const message = (topic: string) =>
      ({ cmd: 'publish', topic, payload: '', qos: 0, dup: false, retain: false }) as const

    /** All that was published, up to a message that is sent now. */
    async function publishedBefore(connection: DriverConnection): Promise<string[]> {
      for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate)
      connection.publish({ topic: 'last', payload: '', qos: 0 })
      await until(() => published().includes('last '))
      return published().slice(0, -1)
    }

    it('once in each turn in which something comes', async () => {
      const connection = await connect()
      server.send(message('a'), message('b'))
      await until(() => published().length > 0)
      server.send(message('c'))
      await until(() => published().length > 1)
      assert.deepEqual(await publishedBefore(connection), [NOTHING, NOTHING])
    })

    it('unless another one is sent in that turn', async () => {
      const connection = await connect()
      answer = () => connection.publish({ topic: 'answer', payload: '', qos: 0 })
      server.send(message('a'))
      await until(() => published().length > 0)
      assert.deepEqual(await publishedBefore(connection), ['answer '])
    })

    it('and none for the greeting, nor for such a packet of another one', async () => {
      const connection = await connect()
      assert.deepEqual(await publishedBefore(connection), [])
      server.received.length = 0
      server.send(message('_elysia/nothing'))
      await until(() => happened.length > 0)
      assert.deepEqual(await publishedBefore(connection), [])
    })
  })
})
