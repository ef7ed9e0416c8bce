import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { ConsumerInit } from '@elysia-microservices/engine'
import { durableSettings, ManualClock } from '@elysia-microservices/transport/kit'
import { RabbitConnection } from '../connection/rabbit-connection.ts'
import { rabbitmqOptions } from '../options/options.ts'
import { FakeRabbitServer } from '../testing/fake-server.ts'
import { GROUPS, NEWS, queueOfPaused } from '../words/names.ts'
import type { RabbitConsumer } from './consumer.ts'
import { RabbitServerStore } from './server-store.ts'

const QUIET = { error() {}, warn() {} }

/** A store with a handler of each group, over a server inside the process. */
async function storeOf(groups: readonly string[]) {
  const clock = new ManualClock()
  const server = new FakeRabbitServer({ clock })
  const listener = { lost() {}, restored() {}, refused() {}, unpublished() {}, failed() {}, ended() {} }
  const options = rabbitmqOptions({ url: 'amqp://127.0.0.1' })
  const connection = await RabbitConnection.open(server.driver, options, 'g', listener)
  const store = new RabbitServerStore(QUIET, clock)
  const consumers = groups.map((group) => {
    const route = { route: 'p', durable: durableSettings({}) }
    const init = { route, pattern: 'p', group, via: 'p', logger: QUIET, dispatcher: { event() {} } }
    return store.consumer(init as unknown as ConsumerInit) as RabbitConsumer
  })
  await store.attach(connection)
  for (const consumer of consumers) await consumer.start(connection)
  const close = async () => {
    store.close()
    for (const consumer of consumers) consumer.cut()
    await connection.close()
  }
  return { clock, server, store, connection, consumers, close }
}

it('a group that was paused, or resumed, without a message to this process is found within a minute', async () => {
  const { clock, server, consumers, close } = await storeOf(['g'])
  const [consumer] = consumers as [RabbitConsumer]
  const settled = async (isPaused: boolean) => {
    await clock.advance(60_000)
    for (let turns = 0; consumer.isPaused !== isPaused && turns < 1_000; turns++)
      await new Promise(setImmediate)
    assert.equal(consumer.isPaused, isPaused)
  }
  server.publish(GROUPS, queueOfPaused('g'), Buffer.from('paused'), {})
  await settled(true)
  server.queues.get(queueOfPaused('g'))?.messages.splice(0)
  await settled(false)
  await close()
})

it('a process answers for the handlers of a paused group alone, when each has looked twice: one look may be older', async () => {
  const { server, connection, consumers, close } = await storeOf(['g', 'h'])
  const told: string[] = []
  connection.publish = (address) => void told.push(`answers ${address}`)
  for (const consumer of consumers) {
    const look = consumer.look.bind(consumer)
    consumer.look = async () => {
      await look()
      told.push(`${consumer.group} has looked`)
    }
  }
  const reply = `${connection.newInbox()}1`
  server.publish(GROUPS, queueOfPaused('g'), Buffer.from('paused'), {})
  server.publish(GROUPS, NEWS, Buffer.from('g'), { messageId: reply })
  for (let turns = 0; told.length < 3 && turns < 1_000; turns++) await new Promise(setImmediate)
  for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
  assert.deepEqual(told, ['g has looked', 'g has looked', `answers ${reply}`])
  assert.deepEqual(
    consumers.map(({ isPaused }) => isPaused),
    [true, false]
  )
  await close()
})

it('a store looks at nothing any more when it has lost its connection for good, or is closed', async () => {
  for (const end of ['detach', 'close'] as const) {
    const { clock, store, connection, close } = await storeOf(['g'])
    assert.equal(clock.waiting, 1)
    await store.attach(connection)
    assert.equal(clock.waiting, 1, 'once for a connection, however often it is attached')
    store[end]()
    assert.equal(clock.waiting, 0)
    await close()
  }
})
