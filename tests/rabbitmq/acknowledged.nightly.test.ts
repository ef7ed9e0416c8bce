/** A queue shared with NestJS whose messages stay in it until they are handled: `noAck: false`. */
import assert from 'node:assert/strict'
import net from 'node:net'
import { after, afterEach, before, describe, it } from 'node:test'
import { type RabbitmqNestOptions, rabbitmq } from '@elysia-microservices/rabbitmq'
import { isMissing, PATIENCE, until } from '@elysia-microservices/test-support'
import { type ClientProxy, ClientProxyFactory, Transport } from '@nestjs/microservices'
import { type Channel, type ChannelModel, connect as connectDriver } from 'amqplib'
import { type AnyMicroservice, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
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

    it('gives a process no more than prefetchCount at a time', async () => {
      const { begun, next } = await serve({ prefetchCount: 2 })
      const answers = Promise.all([1, 2, 3].map(ask))
      await until('two have begun, and one waits', async () => begun.length === 2 && (await ready()) === 1)
      next()
      await until('the next one has begun', () => begun.length === 3)
      next()
      next()
      assert.deepEqual(await answers, [1, 2, 3])
    })

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

    it('goes on after a request in parts', async () => {
      const { begun, next } = await serve({ prefetchCount: 1 })
      const client = connect({
        transport: rabbitmq({ url: server.url, nest: { queue } }),
        logger,
        timeout: PATIENCE
      })
      cleanUps.push(() => client.close())
      const data = 'x'.repeat(17_000_000)
      for (const n of [1, 2]) {
        const answer = client.request('work', data)
        await until('it has begun', () => begun.length === n)
        next()
        assert.ok((await answer) === data)
      }
    })

    it('gives the unhandled messages of a process that is lost to another process', async () => {
      const sockets = new Set<net.Socket>()
      const between = net.createServer((from) => {
        const to = net.connect(server.port, '127.0.0.1')
        for (const socket of [from, to]) {
          sockets.add(socket)
          socket.on('error', () => {})
        }
        from.pipe(to).pipe(from)
      })
      await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve))
      cleanUps.push(() => between.close())
      const { port } = between.address() as net.AddressInfo
      const first = await serve({}, `amqp://127.0.0.1:${port}`)
      const answer = ask('once')
      await until('the first one has it', () => first.begun.length === 1)
      const second = await serve()
      between.close()
      for (const socket of sockets) socket.destroy()
      await until('the other one has it', () => second.begun.length === 1)
      second.next()
      assert.equal(await answer, 'once')
      first.next()
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
