/** A queue shared with NestJS whose messages stay in it until they are handled: `noAck: false`. */
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { type RabbitmqNestOptions, rabbitmq } from '@elysia-microservices/rabbitmq'
import { isMissing, until } from '@elysia-microservices/test-support'
import { type ClientProxy, ClientProxyFactory, Transport } from '@nestjs/microservices'
import { type Channel, type ChannelModel, connect as connectDriver } from 'amqplib'
import { type AnyMicroservice, microservice } from 'elysia-microservices'
import { firstValueFrom } from 'rxjs'
import { type RabbitmqServerProcess, rabbitmqMissing, sharedRabbitmq } from '../support/rabbitmq-server.ts'

if (!isMissing("RabbitMQ's acknowledgements", rabbitmqMissing()))
  describe("a queue of Nest's with noAck: false", () => {
    const queue = 'acknowledged'
    const logger = { error() {}, warn() {} }
    const cleanUps: (() => unknown)[] = []
    let server: RabbitmqServerProcess
    let driver: ChannelModel
    let channel: Channel
    let caller: ClientProxy
    before(async () => {
      server = await sharedRabbitmq()
      driver = await connectDriver(server.url)
      channel = await driver.createChannel()
      caller = ClientProxyFactory.create({
        transport: Transport.RMQ,
        options: { urls: [server.url], queue, queueOptions: { durable: true } }
      })
      await caller.connect()
    })
    after(async () => {
      await caller.close()
      await driver.close()
    })
    afterEach(async () => {
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
      await channel.purgeQueue(queue)
    })

    const ask = (data: unknown) => firstValueFrom(caller.send('work', data))
    const ready = async () => (await channel.checkQueue(queue)).messageCount

    /** Starts a service whose handler waits until the test lets it go on. */
    async function serve(options: RabbitmqNestOptions = {}, url = server.url) {
      const begun: unknown[] = []
      const goOn: (() => void)[] = []
      const transport = rabbitmq({ url, nest: { queue, noAck: false, ...options } })
      const service: AnyMicroservice = microservice({ name: 'worker', transport, logger, drain: 30_000 })
        .message('work', async ({ data }) => {
          begun.push(data)
          await new Promise<void>((resolve) => void goOn.push(resolve))
          if (data === 'bad') throw new Error('It fails')
          return data
        })
        .event('noted', ({ data }) => void begun.push(data))
      await service.listen()
      cleanUps.push(() => service.stop())
      return { begun, service, next: () => goOn.shift()?.() }
    }

    it('goes on after a handler that fails, an event, and a message that nobody handles', async () => {
      const { begun, next } = await serve({ prefetchCount: 1 })
      const bad = ask('bad')
      const failed = assert.rejects(bad)
      await until('it has begun', () => begun.length === 1)
      next()
      await failed
      await firstValueFrom(caller.emit('noted', 'event'))
      await firstValueFrom(caller.emit('unknown', 1))
      channel.sendToQueue(queue, Buffer.from('no JSON'))
      await assert.rejects(firstValueFrom(caller.send('nobody', 1)))
      const good = ask('good')
      await until('it has begun', () => begun.includes('good'))
      assert.ok(begun.includes('event'))
      next()
      assert.equal(await good, 'good')
      await until('nothing is left', async () => (await ready()) === 0)
    })

    it('answers the requests that it has begun before it stops, and no other process handles them again', async () => {
      const first = await serve()
      const answer = ask('last')
      await until('it has begun', () => first.begun.length === 1)
      const second = await serve()
      const stopped = first.service.stop()
      first.next()
      assert.equal(await answer, 'last')
      await stopped
      assert.equal(await ready(), 0)
      assert.deepEqual(second.begun, [])
    })
  })
