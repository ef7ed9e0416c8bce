/**
 * Handlers that settle their messages by hand, as users of NestJS write them: `getChannelRef().ack(message)` and the
 * like, in a NestJS application on our transport and in a service with controllers.
 */
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { MicroserviceServer } from '@elysia-microservices/nestjs'
import { FakeRabbitServer, rabbitmqBy } from '@elysia-microservices/rabbitmq/testing'
import { ManualClock, type Transport } from '@elysia-microservices/transport'
import { Controller, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  Ctx,
  EventPattern,
  type KafkaContext,
  MessagePattern,
  Payload,
  type RmqContext
} from '@nestjs/microservices'
import { memory, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import type { RpcContext } from 'elysia-microservices/nest'

/** The context, as handlers of NestJS see it: with everything that the drivers have. */
type Context = Omit<RpcContext, 'getChannelRef' | 'getConsumer' | 'getProducer'> &
  Pick<RmqContext, 'getChannelRef'> &
  Pick<KafkaContext, 'getConsumer' | 'getProducer'>

/** Settles the message of a context in the way that the data ask for. */
function settle(how: unknown, context: Context): void {
  const channel = context.getChannelRef()
  const message = context.getMessage()
  if (how === 'ack' || how === 'early') channel.ack(message)
  if (how === 'nack') channel.nack(message, false, true)
  if (how === 'refuse') channel.nack(message, false, false)
  if (how === 'reject') channel.reject(message, false)
  if (how === 'twice') {
    channel.ack(message)
    channel.nack(message)
  }
}

interface Job {
  readonly how: string
  readonly fails?: boolean
}

const seen: string[] = []
/** Lets a job go on that waits. */
let goOn = () => {}

@Controller()
class Jobs {
  @EventPattern('kept', { durable: { retry: { attempts: 2, minDelay: 1_000, factor: 1 } } })
  kept(@Payload() { how, fails }: Job, @Ctx() given: unknown): void {
    const context = given as Context
    const attempt = context.message.delivery?.attempt ?? 0
    seen.push(`${how} ${attempt}`)
    settle(attempt > 1 && how === 'nack' ? 'ack' : how, context)
    if (fails) throw new Error('it fails afterwards')
  }

  @MessagePattern('job')
  async job(@Payload() { how }: Job, @Ctx() context: Context): Promise<string> {
    seen.push(how)
    settle(seen.filter((one) => one === how).length > 1 ? 'ack' : how, context)
    if (how === 'early')
      await new Promise<void>((resolve) => {
        goOn = resolve
      })
    return `${how} is done`
  }

  @MessagePattern('drivers')
  async drivers(@Ctx() context: Context): Promise<string[]> {
    await context.getHeartbeat()()
    await context.getConsumer().commitOffsets([{ topic: 'a', partition: 0, offset: '1' }])
    const methods = [
      () => context.getChannelRef().sendToQueue('a', 'b'),
      () => context.getProducer().send({ topic: 'a', messages: [] }),
      () => context.getConsumer().pause([])
    ]
    return methods.map((method) => {
      try {
        return method()
      } catch (error) {
        return (error as Error).message
      }
    })
  }
}

@Module({ controllers: [Jobs] })
class App {}

type Stop = () => Promise<unknown>

/** Lines of the log. */
let log: string[] = []
const line = (message: string, cause?: unknown) =>
  void log.push(`${message} ${String((cause as Error)?.message ?? '')}`)
const logger = { error: line, warn: line }

const ENDS: readonly (readonly [string, (transport: Transport) => Promise<Stop>])[] = [
  [
    'a Nest application on our transport',
    async (transport) => {
      const strategy = new MicroserviceServer({ name: 'jobs', transport, logger })
      const app = await NestFactory.createMicroservice(App, { strategy, logger: false })
      await app.listen()
      return () => app.close()
    }
  ],
  [
    'a service with controllers',
    async (transport) => {
      const service = microservice({ name: 'jobs', transport, controllers: [Jobs], logger })
      await service.listen()
      return () => service.stop()
    }
  ]
]

for (const [name, start] of ENDS) {
  describe(`a message that its handler settles by hand, in ${name}`, () => {
    const cleanUps: Stop[] = []
    afterEach(async () => {
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
      seen.length = 0
      log = []
    })

    it('is done, runs again or becomes a dead letter, if it is a durable event', async () => {
      const clock = new ManualClock(0)
      const transport = memory({ clock })
      cleanUps.push(await start(transport))
      const client = connect({ transport, logger })
      cleanUps.push(() => client.close())
      const jobs: Job[] = [
        { how: 'ack', fails: true },
        { how: 'nack' },
        { how: 'refuse' },
        { how: 'reject', fails: true },
        { how: 'twice' },
        { how: 'nothing' }
      ]
      for (const job of jobs) await client.publish('kept', job)
      await clock.advance(10_000)
      assert.deepEqual(seen.toSorted(), [
        'ack 1',
        'nack 1',
        'nack 2',
        'nothing 1',
        'refuse 1',
        'reject 1',
        'twice 1'
      ])
      const letters: unknown[] = []
      for await (const { data } of client.group('jobs').deadLetters.list()) letters.push(data)
      assert.deepEqual(letters.map((data) => (data as Job).how).toSorted(), ['refuse', 'reject'])
    })

    it("is settled at once in a queue of Nest's with noAck: false, and answered all the same", async () => {
      const server = new FakeRabbitServer()
      const transport = () =>
        rabbitmqBy(server.driver, {
          url: `amqp://127.0.0.1:${server.port}`,
          nest: { queue: 'jobs', noAck: false, prefetchCount: 1 }
        })
      cleanUps.push(await start(transport()))
      const client = connect({ transport: rabbitmqBy(server.driver, { nest: { queue: 'jobs' } }), logger })
      cleanUps.push(() => client.close())
      const ask = (how: string) => client.request('job', { how })
      for (const how of ['ack', 'refuse', 'reject', 'twice', 'nothing'])
        assert.equal(await ask(how), `${how} is done`)
      assert.equal(await ask('nack'), 'nack is done')
      // Only one message may be unacknowledged, so the next one comes only if the one before is settled.
      assert.equal(await ask('last'), 'last is done')
      assert.deepEqual(seen.slice(-3), ['nack', 'nack', 'last'])
      const early = ask('early')
      assert.equal(await ask('next'), 'next is done')
      goOn()
      assert.equal(await early, 'early is done')
    })

    it('is not given back where nobody could deliver it again, which the log says, and is answered', async () => {
      const transport = memory()
      cleanUps.push(await start(transport))
      const client = connect({ transport, logger })
      cleanUps.push(() => client.close())
      assert.equal(await client.request('job', { how: 'ack' }), 'ack is done')
      assert.deepEqual(log, [])
      assert.equal(await client.request('job', { how: 'nack' }), 'nack is done')
      assert.match(log.join(), /getChannelRef\(\).nack\(\) of 'job' has no effect: .* give noAck: false/)
    })

    it('cannot use more of a driver, and is told what to do instead', async () => {
      const transport = memory()
      cleanUps.push(await start(transport))
      const client = connect({ transport, logger })
      cleanUps.push(() => client.close())
      const [channel, producer, consumer] = await client.request<string[]>('drivers')
      assert.match(String(channel), /^getChannelRef\(\).sendToQueue\(\) .* send with a client of this/)
      assert.match(String(producer), /^getProducer\(\).send\(\)/)
      assert.match(String(consumer), /^getConsumer\(\).pause\(\) .* pauses a group/)
    })
  })
}
