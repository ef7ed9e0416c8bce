import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { ConsumerInit } from '@elysia-microservices/engine'
import { durableSettings, ManualClock } from '@elysia-microservices/transport/kit'
import { RabbitConnection } from '../connection/rabbit-connection.ts'
import { rabbitmqOptions } from '../options/options.ts'
import { FakeRabbitServer } from '../testing/fake-server.ts'
import { GROUPS, queueOfPaused } from '../words/names.ts'
import type { RabbitConsumer } from './consumer.ts'
import { RabbitServerStore } from './server-store.ts'

const QUIET = { error() {}, warn() {} }

it('a group that was paused, or resumed, without a message to this process is found within a minute', async () => {
  const clock = new ManualClock()
  const server = new FakeRabbitServer({ clock })
  const listener = { lost() {}, restored() {}, refused() {}, unpublished() {}, failed() {}, ended() {} }
  const options = rabbitmqOptions({ url: 'amqp://127.0.0.1' })
  const connection = await RabbitConnection.open(server.driver, options, 'g', listener)
  const store = new RabbitServerStore(QUIET, clock)
  const init = {
    route: { route: 'p', durable: durableSettings({}) },
    pattern: 'p',
    group: 'g',
    via: 'p',
    logger: QUIET
  }
  const given = { ...init, dispatcher: { event() {} } } as unknown as ConsumerInit
  const consumer = store.consumer(given) as RabbitConsumer
  await store.attach(connection)
  await consumer.start(connection)
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
  store.close()
  consumer.cut()
  await connection.close()
})
