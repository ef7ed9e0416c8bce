import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ManualClock } from '@elysia-microservices/transport/kit'
import type { Driver } from '../driver.ts'
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

/** A link to a server whose channels a test watches. */
async function watched() {
  const server = new FakeRabbitServer()
  const clock = new ManualClock()
  const listener = { lost() {}, restored() {}, halted() {}, failed() {} }
  const options = rabbitmqOptions({ url: 'amqp://127.0.0.1' })
  const link = await Link.open(server.driver, options, undefined, listener, clock)
  const settled = async () => {
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
  }
  return { server, clock, link, settled }
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
