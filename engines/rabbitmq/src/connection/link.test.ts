import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Timeouts } from '@elysia-microservices/test-support'
import { type Clock, ManualClock } from '@elysia-microservices/transport/kit'
import type { Driver, DriverConnection } from '../driver.ts'
import { rabbitmqOptions } from '../options/options.ts'
import { rabbitmq } from '../rabbitmq.ts'
import { FakeRabbitServer } from '../testing/fake-server.ts'
import { Link } from './link.ts'

it('a port with the digits of an error code is not taken for that error', async () => {
  // 403 means "access refused", 530 "not allowed".
  for (const port of [1403, 1530]) {
    const client = rabbitmq({ url: `amqp://127.0.0.1:${port}` }).client({
      logger: { error() {}, warn() {} },
      timeout: 0,
      dispatcher: undefined
    })
    await assert.rejects(client.connect(), {
      name: 'ConnectionError',
      message: new RegExp(`^Cannot reach RabbitMQ at 127.0.0.1:${port}`)
    })
    await client.close()
  }
})

it('a server that refuses the credentials is the answer: no other server is asked', async () => {
  const asked: string[] = []
  const driver: Driver = {
    connect: async (url) => {
      asked.push(url)
      throw new Error('Handshake terminated by server: 403 (ACCESS-REFUSED) with message "ACCESS_REFUSED"')
    }
  }
  const options = rabbitmqOptions({ url: ['amqp://a', 'amqp://b'] })
  const listener = { lost() {}, restored() {}, halted() {}, failed() {} }
  await assert.rejects(Link.open(driver, options, undefined, listener), { name: 'UnauthenticatedError' })
  assert.equal(asked.length, 1)
})

it('a channel that the server has closed is opened again when its pause is over, and so after each refusal', async () => {
  const clock = new ManualClock()
  const server = new FakeRabbitServer()
  const failures: string[] = []
  const listener = {
    lost() {},
    restored() {},
    halted() {},
    failed: (error: Error) => failures.push(error.message)
  }
  const options = rabbitmqOptions({ url: 'amqp://127.0.0.1' })
  const link = await Link.open(server.driver, options, undefined, listener, clock)
  const said: string[] = []
  let refusals = 0
  const part = await link.open(
    async () => {
      if (refusals-- > 0) throw new Error('not now')
    },
    { alone: { closed: () => said.push('closed'), reopened: () => said.push('reopened') } }
  )
  refusals = 2
  await assert.rejects(part.channel!.checkQueue('nowhere'))
  await clock.advance(0)
  assert.deepEqual([said, part.channel, clock.waiting], [['closed'], undefined, 1])
  // The pauses are 50 ms, 100 ms and 200 ms at most.
  await clock.advance(350)
  assert.deepEqual(failures, ['not now', 'not now'])
  assert.deepEqual([said, clock.waiting], [['closed', 'reopened'], 0])
  assert.notEqual(part.channel, undefined)
  await link.close()
})

it('a connection that is lost is no news of its single channels, which are set up over the next one', async () => {
  const { server, clock, link, settled } = await watched()
  const said: string[] = []
  let times = 0
  const alone = { closed: () => said.push('closed'), reopened: () => said.push('reopened') }
  const part = await link.open(async () => void times++, { alone })
  server.cut()
  await settled()
  assert.deepEqual([said, clock.waiting, part.channel], [[], 1, undefined])
  await clock.advance(2_000)
  await settled()
  assert.deepEqual([said, times, part.channel === undefined], [[], 2, false])
  await part.remove()
  await settled()
  assert.deepEqual([said, clock.waiting, part.channel], [[], 0, undefined])
  await link.close()
})

/** Milliseconds within which the server of `watched` must answer: in no other timer. */
const HEARTBEAT = 54_321

/** A link to a server whose channels a test watches. */
async function watched() {
  const server = new FakeRabbitServer()
  const clock = new ManualClock()
  const listener = { lost() {}, restored() {}, halted() {}, failed() {} }
  const options = rabbitmqOptions({ url: 'amqp://127.0.0.1', heartbeat: HEARTBEAT })
  const connections: DriverConnection[] = []
  const { driver } = server
  const connect = driver.connect.bind(driver)
  driver.connect = async (...args) => {
    const connection = await connect(...args)
    connections.push(connection)
    return connection
  }
  const link = await Link.open(driver, options, undefined, listener, clock)
  const settled = async () => {
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
  }
  return { server, clock, link, connections, settled }
}

it('a channel for one question is closed when it is answered, and when it is not', async () => {
  const { server, link, settled } = await watched()
  const before = server.channels.size
  await link.aside((channel) => channel.declareQueue('q', {}))
  await assert.rejects(
    link.aside(() => Promise.reject(new Error('no'))),
    /no/
  )
  await settled()
  assert.equal(server.channels.size, before)
  await link.close()
})

it('channels that were replaced stay until all is confirmed, but not without end', async () => {
  const { server, link, settled } = await watched()
  const part = await link.open((channel) => channel.declareQueue('q', {}), { isConfirmed: true })
  const before = server.channels.size
  // Nothing is confirmed any more.
  for (const channel of server.channels) channel.confirmed = () => new Promise(() => {})
  for (let times = 0; times < 40; times++) {
    await part.replace()
    for (const channel of server.channels) channel.confirmed = () => new Promise(() => {})
  }
  await settled()
  assert.equal(server.channels.size, before + 16)
  await link.close()
})

it('a connection over which not all can be set up again is closed before the next one is made', async () => {
  const { server, clock, link, settled } = await watched()
  let isRefused = false
  const opened = new Set<unknown>()
  const { driver } = server
  const connect = driver.connect.bind(driver)
  driver.connect = async (...args) => {
    const connection = await connect(...args)
    const close = connection.close.bind(connection)
    connection.close = () => {
      opened.delete(connection)
      return close()
    }
    opened.add(connection)
    return connection
  }
  const part = await link.open(async () => {
    if (isRefused) throw new Error('not now')
  })
  isRefused = true
  server.cut()
  await settled()
  assert.deepEqual([link.isConnected, part.channel], [false, undefined])
  for (let tries = 0; tries < 3; tries++) {
    await clock.advance(2_000)
    await settled()
    assert.equal(opened.size, 0, 'It stays open beside the next one')
  }
  isRefused = false
  await clock.advance(2_000)
  await settled()
  assert.deepEqual([link.isConnected, opened.size, part.channel === undefined], [true, 1, false])
  await link.close()
})

it('the pauses before its server is looked for grow until a connection has held', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  t.mock.method(Math, 'random', () => 1)
  const server = new FakeRabbitServer()
  const { driver } = server
  const manual = new ManualClock()
  const pauses: number[] = []
  const clock: Clock = {
    now: () => manual.now(),
    after: (milliseconds, wake) => {
      pauses.push(milliseconds)
      return manual.after(milliseconds, wake)
    }
  }
  const listener = { lost() {}, restored() {}, halted() {}, failed() {} }
  const options = rabbitmqOptions({ url: 'amqp://127.0.0.1' })
  const link = await Link.open(driver, options, undefined, listener, clock)
  const untilConnected = async () => {
    while (!link.isConnected) await manual.advance(50)
  }
  // Two connections that are lost at once.
  server.cut()
  await untilConnected()
  server.cut()
  await untilConnected()
  assert.deepEqual(pauses.splice(0), [100, 200])
  now += 2_001
  const connect = driver.connect.bind(driver)
  let failures = 2
  driver.connect = (...args) =>
    failures-- > 0 ? Promise.reject(new Error('connect ECONNREFUSED')) : connect(...args)
  server.cut()
  await untilConnected()
  assert.deepEqual(pauses, [50, 100, 200])
  await link.close()
})

it('a server that does not answer a request about a queue, or opens no channel, has certainly done nothing', async () => {
  const { server, link, connections, settled } = await watched()
  const before = server.channels.size
  using _ = new Timeouts((milliseconds) => (milliseconds === HEARTBEAT ? 0 : milliseconds))
  await assert.rejects(
    link.open(() => new Promise(() => {})),
    { name: 'ConnectionError', mayHaveRun: false, message: /perhaps the queue has no leader/ }
  )
  const openings: (() => void)[] = []
  for (const connection of connections) {
    const open = connection.openChannel.bind(connection)
    connection.openChannel = (isConfirmed) =>
      new Promise((resolve) => openings.push(() => resolve(open(isConfirmed))))
  }
  await assert.rejects(
    link.open(async () => assert.fail('There is no channel')),
    { name: 'ConnectionError', mayHaveRun: false, message: 'RabbitMQ does not open a channel' }
  )
  // A channel that is opened too late is not kept.
  for (const open of openings) open()
  await settled()
  assert.equal(server.channels.size, before)
  await link.close()
})

for (const outcome of ['succeeds', 'fails'])
  it(`a channel whose connection is lost while its setting up ${outcome} is none, and is set up over the next one`, async () => {
    const { server, clock, link, settled } = await watched()
    const settings: ((error?: Error) => void)[] = []
    const setUp = () =>
      new Promise<void>((resolve, reject) =>
        settings.push((error) => (error === undefined ? resolve() : reject(error)))
      )
    const opening = link.open(setUp, { isApart: true })
    await settled()
    server.cut()
    await settled()
    settings[0]?.(outcome === 'fails' ? new Error('lost') : undefined)
    const part = await opening
    assert.equal(part.channel, undefined)
    await clock.advance(2_000)
    await settled()
    assert.equal(settings.length, 2)
    settings[1]?.()
    await settled()
    assert.notEqual(part.channel, undefined)
    await link.close()
  })

it('a channel that cannot be opened again is opened later, with all that is on it', async () => {
  const { clock, link, settled } = await watched()
  let refusals = 0
  const part = await link.open(async () => {
    if (refusals-- > 0) throw new Error('not now')
  })
  refusals = 1
  await assert.rejects(part.renew(), /not now/)
  assert.equal(part.channel, undefined)
  await clock.advance(100)
  await settled()
  assert.notEqual(part.channel, undefined)
  const { channel } = part
  refusals = 1
  await assert.rejects(part.replace(), /not now/)
  assert.equal(part.channel, channel, 'the present one stays')
  await link.close()
})
