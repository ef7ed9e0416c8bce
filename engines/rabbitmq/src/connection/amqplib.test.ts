/** amqplib over a socket: the cases that every driver keeps, and what only this one does. */
import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { Timeouts } from '@elysia-microservices/test-support'
import type { ConnectOptions, DriverConnection } from '../driver.ts'
import { driverCases } from '../testing/driver-cases.ts'
import { AmqpSocketServer } from '../testing/socket-server.ts'
import { amqplib } from './amqplib.ts'

const shared = new AmqpSocketServer()
before(() => shared.listen())
after(() => shared.close())
driverCases('a socket, by amqplib', async () => ({
  driver: amqplib,
  url: shared.url,
  async restart() {
    shared.fake.stop()
    shared.fake.start()
  }
}))

/** Milliseconds for which a connection that ends waits for its server. */
const MOST_CLOSING = 1_000

describe('amqplib', () => {
  let server: AmqpSocketServer
  let happened: string[]
  const opened: DriverConnection[] = []

  beforeEach(async () => {
    server = new AmqpSocketServer()
    happened = []
    await server.listen()
  })
  afterEach(async () => {
    server.isSilent = false
    server.fake.resume()
    for (const connection of opened.splice(0)) await connection.close()
    await server.close()
  })

  async function connect(
    given: Partial<ConnectOptions> = {},
    signal?: AbortSignal
  ): Promise<DriverConnection> {
    const options = { tls: undefined, connectTimeout: 10_000, heartbeat: 10_000, name: 'orders', ...given }
    const connection = await amqplib.connect(server.url, options, {
      signal,
      lost: () => happened.push('lost'),
      halted: (reason) => happened.push(`halted ${reason}`)
    })
    opened.push(connection)
    return connection
  }

  async function until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise(setImmediate)
  }

  it('gives its connection a name, and a heartbeat in seconds; and knows the version of the server', async () => {
    const connection = await connect({ heartbeat: 4_000 })
    const [start, tuned] = server.greeted
    const properties = start?.['clientProperties'] as { readonly connection_name?: unknown } | undefined
    assert.deepEqual(
      [properties?.connection_name, tuned?.['heartbeat'], connection.version],
      ['orders', 4, '3.13.0']
    )
  })

  it('sends what it writes at once', async (t) => {
    const asked: unknown[] = []
    const { setNoDelay } = Socket.prototype
    t.mock.method(Socket.prototype, 'setNoDelay', function (this: Socket, ...args: [boolean?]) {
      asked.push(args[0])
      return setNoDelay.apply(this, args)
    })
    await connect()
    assert.ok(asked.length > 0 && asked.every((isAtOnce) => isAtOnce !== false), asked.join())
  })

  it('fails with the reason of a refusal', async () => {
    server.refusal = 'ACCESS_REFUSED - Login was refused'
    await assert.rejects(connect(), /403.*ACCESS.REFUSED/)
  })

  it('fails if the server does not greet in time, or ends the connection', async () => {
    server.isSilent = true
    await assert.rejects(connect({ connectTimeout: 50 }), /50 ms/)
    await until(() => server.open === 0)
    const ended = assert.rejects(connect())
    await until(() => server.open === 1)
    server.cut()
    await ended
  })

  it('gives an attempt up that is aborted, with its socket, and keeps a connection that stands', async () => {
    const abort = new AbortController()
    await connect({}, abort.signal)
    server.isSilent = true
    const given = assert.rejects(connect({}, abort.signal), /over/)
    await until(() => server.open === 2)
    abort.abort(new Error('over'))
    await given
    await until(() => server.open === 1)
    assert.deepEqual(happened, [])
  })

  it('passes on that the server takes no messages, and why', async () => {
    await connect()
    for (const reason of ['low on memory', '', undefined]) server.fake.halt(reason)
    await until(() => happened.length === 3)
    assert.deepEqual(happened, ['halted low on memory', 'halted no reason given', 'halted undefined'])
  })

  it('tells once that the connection is lost, however it ends, and not of one that was closed', async () => {
    await connect()
    server.cut()
    await until(() => happened.length === 1)
    await connect()
    const reason = 'CONNECTION_FORCED - broker forced connection closure'
    server.send('ConnectionClose', { replyCode: 320, replyText: reason, classId: 0, methodId: 0 })
    await until(() => happened.length === 2)
    const closed = await connect()
    await closed.close()
    await until(() => server.open === 0)
    for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate)
    assert.deepEqual(happened, ['lost', 'lost'])
  })

  it('is closed with its socket although the server does not answer', async () => {
    const connection = await connect()
    server.isSilent = true
    using _ = new Timeouts((milliseconds) => (milliseconds === MOST_CLOSING ? 0 : milliseconds))
    await connection.close()
    await until(() => server.open === 0)
    assert.deepEqual(happened, [])
  })

  it('waits for confirmations on a channel that has them, and for nothing on one that has none', async () => {
    const connection = await connect()
    const [sure, plain] = [await connection.openChannel(true), await connection.openChannel(false)]
    assert.equal(server.received.filter((name) => name === 'ConfirmSelect').length, 1)
    server.fake.suspend()
    const told: unknown[] = []
    sure.publish('', 'nowhere', Buffer.from('x'), {}, (error) => told.push(error))
    plain.publish('', 'nowhere', Buffer.from('x'), {}, (error) => told.push(error))
    let isConfirmed = false
    const confirmed = sure.confirmed().then(() => {
      isConfirmed = true
    })
    await plain.confirmed()
    await until(() => server.received.filter((name) => name === 'BasicPublish').length === 2)
    assert.equal(isConfirmed, false)
    server.fake.resume()
    await confirmed
    assert.deepEqual(told, [null])
  })

  it('declares exchanges that outlive the server, and sends bodies of any size', async () => {
    const channel = await (await connect()).openChannel(true)
    await channel.declareExchange('e', 'fanout')
    await channel.checkExchange('e')
    await channel.declareQueue('q', { durable: true })
    await channel.bindQueue('q', 'e', '')
    for (const size of [0, 1, 300_000])
      await new Promise<void>((resolve) =>
        channel.publish('e', '', Buffer.alloc(size, 7), {}, () => resolve())
      )
    const sizes: (number | undefined)[] = []
    for (let n = 0; n < 4; n++) sizes.push((await channel.get('q'))?.content.length)
    assert.deepEqual(sizes, [0, 1, 300_000, undefined])
    assert.deepEqual(server.declared, [true])
  })

  it('acknowledges one delivery, unless it is told to acknowledge all up to it', async () => {
    const channel = await (await connect()).openChannel(true)
    await channel.declareQueue('q', { durable: true })
    for (let n = 0; n < 4; n++)
      await new Promise<void>((resolve) => channel.publish('', 'q', Buffer.from(`${n}`), {}, () => resolve()))
    const tags: number[] = []
    for (let n = 0; n < 4; n++) tags.push((await channel.get('q'))?.fields.deliveryTag ?? 0)
    channel.acknowledge(tags[2] ?? 0)
    channel.acknowledge(tags[1] ?? 0, true)
    await channel.checkQueue('q')
    await channel.close()
    const other = await (await connect()).openChannel(true)
    assert.deepEqual([(await other.get('q'))?.content.toString(), await other.get('q')], ['3', undefined])
  })

  it('keeps why it was closed here, and is told that it is closed', async () => {
    const channel = await (await connect()).openChannel(true)
    let isClosed = false
    channel.whenClosed(() => {
      isClosed = true
    })
    const because = new Error('too late')
    await channel.close(because)
    assert.deepEqual([channel.failure, isClosed], [because, true])
  })
})
