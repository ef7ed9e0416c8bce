/**
 * NestJS and this library on one RabbitMQ server: the bytes in the queues are compared, and what is special to
 * RabbitMQ.
 */
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MicroserviceServer } from '@elysia-microservices/nestjs'
import { type RabbitmqNestOptions, rabbitmq } from '@elysia-microservices/rabbitmq'
import { freePort, isMissing, Log, until, Values } from '@elysia-microservices/test-support'
import { Controller, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  type ClientProxy,
  ClientProxyFactory,
  Ctx,
  EventPattern,
  MessagePattern,
  type MicroserviceOptions,
  Payload,
  type RmqContext,
  type RmqOptions,
  RmqRecordBuilder,
  RpcException,
  Transport
} from '@nestjs/microservices'
import { type ChannelModel, connect as connectDriver } from 'amqplib'
import { microservice } from 'elysia-microservices'
import { connect, PatternNotFoundError, type UntypedClient } from 'elysia-microservices/client'
import { firstValueFrom, from, lastValueFrom, toArray } from 'rxjs'
import { type RabbitmqServerProcess, rabbitmqMissing, sharedRabbitmq } from '../support/rabbitmq-server.ts'
import { Tap } from '../support/rabbitmq-tap.ts'

let seen = new Values<unknown>()

/** A controller as NestJS's documentation for RabbitMQ shows it. */
@Controller()
class OrdersController {
  @MessagePattern('echo')
  echo(@Payload() data: unknown): unknown {
    return data
  }

  @MessagePattern('values')
  values(): unknown {
    return from([1, 2, 3])
  }

  @MessagePattern('refuses')
  refuses(@Payload() data: object): never {
    throw new RpcException(data)
  }

  @MessagePattern('time.us.*')
  time(@Payload() data: unknown, @Ctx() context: RmqContext): unknown {
    return [context.getPattern(), data]
  }

  @MessagePattern('properties')
  properties(@Ctx() context: RmqContext): unknown {
    const { headers, priority } = context.getMessage()['properties']
    return [headers['x-version'], priority]
  }

  @EventPattern('created')
  created(@Payload() data: unknown): void {
    seen.put(data)
  }
}

@Module({ controllers: [OrdersController] })
class OrdersModule {}

/** The options of a NestJS service and client that share a queue. */
type Options = NonNullable<RmqOptions['options']>

if (!isMissing('Nest and our transport over RabbitMQ', rabbitmqMissing())) {
  describe('over RabbitMQ', () => {
    let server: RabbitmqServerProcess
    let tap: Tap
    let driver: ChannelModel
    const log = new Log()
    before(async () => {
      server = await sharedRabbitmq()
      tap = await Tap.open(server)
      driver = await connectDriver(server.url)
    })
    after(async () => {
      await tap.close()
      await driver.close()
    })

    async function startNest(given: Options, isOurs = false): Promise<() => Promise<void>> {
      const options: RmqOptions = {
        transport: Transport.RMQ,
        options: { urls: [server.url], ...given }
      }
      const app = await NestFactory.createMicroservice<MicroserviceOptions>(OrdersModule, {
        ...(isOurs
          ? { strategy: new MicroserviceServer({ ...options, transport: Transport.RMQ }) }
          : options),
        logger: false
      })
      await app.listen()
      return () => app.close()
    }

    /** The same service with our API. */
    async function startOurs(
      nest: RabbitmqNestOptions,
      url: string | readonly string[] = server.url
    ): Promise<() => Promise<void>> {
      const transport = rabbitmq({ url, nest })
      const service = microservice({ name: 'orders', transport, logger: log.logger })
        .message('echo', ({ data }) => data)
        .message('values', () => from([1, 2, 3]))
        .message('refuses', ({ data }) => {
          throw new RpcException(data as object)
        })
        .message('time.us.*', ({ data, pattern }) => [pattern, data])
        .message('properties', ({ headers }) => [headers['x-version'], Number(headers['amqp-priority'])])
        .event('created', ({ data }) => seen.put(data))
      await service.listen()
      return () => service.stop()
    }

    /** The messages, without the parts that differ in each run. */
    async function taken(count: number): Promise<string[]> {
      await until(`${count} messages`, () => tap.messages.length >= count)
      return tap.messages.splice(0).map(({ exchange, key, properties, body }) => {
        const { reply_to, correlation_id, expiration, headers } = properties as Record<string, unknown>
        const where =
          key.startsWith('amq.rabbitmq.reply-to.') || key.startsWith('_elysia.i.') ? 'CALLER' : key
        const said = [
          typeof reply_to === 'string' ? 'reply' : '',
          typeof correlation_id === 'string' ? 'correlation' : '',
          expiration === undefined ? '' : `expires ${expiration}`,
          headers === undefined || Object.keys(headers as object).length === 0 ? '' : JSON.stringify(headers)
        ]
        const words = body.replace(/"id":"[^"]+"/, '"id":"ID"')
        return `${exchange}>${where} [${said.filter((one) => one !== '').join(' ')}] ${words}`
      })
    }

    for (const name of ['Nest', 'ours'] as const)
      describe(`a service of ${name}`, () => {
        const queue = `bytes-${name}`
        let stop: () => Promise<void>
        let nest: ClientProxy
        let own: UntypedClient
        before(async () => {
          seen = new Values()
          stop = await (name === 'Nest' ? startNest : startOurs)({ queue })
          nest = ClientProxyFactory.create({
            transport: Transport.RMQ,
            options: { urls: [server.url], queue }
          })
          own = connect({ transport: rabbitmq({ url: server.url, nest: { queue } }), timeout: 5_000 })
          await nest.connect()
          await own.connect()
          tap.messages.length = 0
        })
        after(async () => {
          await own.close()
          await nest.close()
          await stop()
        })

        it("answers Nest's client as Nest does, byte by byte", async () => {
          assert.deepEqual(await firstValueFrom(nest.send('echo', { x: 1 })), { x: 1 })
          assert.deepEqual(await taken(2), [
            `>${queue} [reply correlation] {"pattern":"echo","data":{"x":1},"id":"ID"}`,
            '>CALLER [correlation] {"response":{"x":1},"isDisposed":true}'
          ])
          assert.deepEqual(await lastValueFrom(nest.send('values', 0).pipe(toArray())), [1, 2, 3])
          assert.deepEqual((await taken(4)).slice(1), [
            '>CALLER [correlation] {"response":1}',
            '>CALLER [correlation] {"response":2}',
            '>CALLER [correlation] {"response":3,"isDisposed":true}'
          ])
          await assert.rejects(firstValueFrom(nest.send('refuses', { code: 7 })))
          assert.equal((await taken(2))[1], '>CALLER [correlation] {"err":{"code":7},"isDisposed":true}')
          await assert.rejects(firstValueFrom(nest.send('unknown', 0)), /no matching message handler/)
          assert.match((await taken(2))[1] ?? '', /^>CALLER \[correlation\] \{"id":"ID",.*"err":"There is no/)
        })

        it('is called by our client as by Nest, with the time that its caller waits', async () => {
          assert.deepEqual(await own.request('echo', { x: 1 }), { x: 1 })
          const [request, answer] = await taken(2)
          assert.equal(
            request,
            `>${queue} [reply correlation expires 5000] {"pattern":"echo","data":{"x":1},"id":"ID"}`
          )
          // Clients and services of this library recognise each other by the reply address.
          assert.equal(
            answer,
            name === 'Nest'
              ? '>CALLER [correlation] {"response":{"x":1},"isDisposed":true}'
              : '_elysia.inboxes>CALLER [correlation] +d{"x":1}'
          )
        })

        it('gets events of both clients as Nest writes them, once', async () => {
          await lastValueFrom(nest.emit('created', { e: 1 }), { defaultValue: undefined })
          await own.emit('created', { e: 1 })
          assert.deepEqual([await seen.take(), await seen.take()], [{ e: 1 }, { e: 1 }])
          const event = `>${queue} [] {"pattern":"created","data":{"e":1}}`
          assert.deepEqual(await taken(2), [event, event])
        })

        it("gets headers and priority of Nest's records", async () => {
          const record = new RmqRecordBuilder({})
            .setOptions({ headers: { 'x-version': '2' }, priority: 3 })
            .build()
          assert.deepEqual(await firstValueFrom(nest.send('properties', record)), ['2', 3])
          assert.deepEqual(await own.request('properties', record), ['2', 3])
          const headers = { 'x-version': '4', 'amqp-priority': '5' }
          assert.deepEqual(await own.request('properties', 0, { headers }), ['4', 5])
        })

        it('reports to our client at once that nobody handles a pattern', async () => {
          await assert.rejects(own.request('unknown'), PatternNotFoundError)
        })
      })

    for (const name of ['Nest', 'ours'] as const)
      it(`a service of ${name} is found by the topic exchange of its queue, wildcards included`, async () => {
        const options = { queue: `topic-${name}`, wildcards: true }
        seen = new Values()
        const stop = await (name === 'Nest' ? startNest : startOurs)(options)
        const nest = ClientProxyFactory.create({
          transport: Transport.RMQ,
          options: { urls: [server.url], ...options }
        })
        const own = connect({ transport: rabbitmq({ url: server.url, nest: options }) })
        try {
          assert.deepEqual(await firstValueFrom(nest.send('time.us.east', 1)), ['time.us.east', 1])
          assert.deepEqual(await own.request('time.us.west', 2), ['time.us.west', 2])
          await own.emit('created', 3)
          assert.equal(await seen.take(), 3)
          await assert.rejects(own.request('time.eu.west'), PatternNotFoundError)
        } finally {
          await own.close()
          await nest.close()
          await stop()
        }
      })

    it('services of Nest and ours get each event of a fanout exchange, in a queue of their own', async () => {
      const options = { queue: '', exchange: 'fanout-events', exchangeType: 'fanout' } as const
      seen = new Values()
      const stops = [await startNest(options), await startNest(options, true), await startOurs(options)]
      const nest = ClientProxyFactory.create({
        transport: Transport.RMQ,
        options: { urls: [server.url], ...options }
      })
      const own = connect({ transport: rabbitmq({ url: server.url, nest: options }) })
      await lastValueFrom(nest.emit('created', 1), { defaultValue: undefined })
      assert.deepEqual([await seen.take(), await seen.take(), await seen.take()], [1, 1, 1])
      await own.emit('created', 2)
      assert.deepEqual([await seen.take(), await seen.take(), await seen.take()], [2, 2, 2])
      assert.equal(await own.request('echo', 3), 3)
      assert.equal(await firstValueFrom(nest.send('echo', 4)), 4)
      for (const stop of [() => own.close(), () => nest.close(), ...stops]) await stop()
    })

    it('a request does not wait in the queue for a service that does not run, and an event does', async () => {
      const queue = 'nobody-there'
      const channel = await driver.createChannel()
      const own = connect({ transport: rabbitmq({ url: server.url, nest: { queue } }) })
      await assert.rejects(own.request('echo', 1), PatternNotFoundError)
      await channel.assertQueue(queue, { durable: true })
      await assert.rejects(own.request('echo', 1), PatternNotFoundError)
      await own.emit('created', 'kept')
      assert.equal((await channel.checkQueue(queue)).messageCount, 1)
      seen = new Values()
      const stop = await startOurs({ queue })
      assert.equal(await seen.take(), 'kept')
      assert.equal(await own.request('echo', 1), 1)
      await own.close()
      await stop()
      await channel.deleteQueue(queue)
    })

    it('the first server that can be reached is used', async () => {
      const urls = [`amqp://127.0.0.1:${await freePort()}`, server.url]
      const stop = await startOurs({}, urls)
      const own = connect({ transport: rabbitmq({ url: urls }) })
      assert.equal(await own.request('echo', 1), 1)
      await own.close()
      await stop()
    })

    it('answers go only to queues that the options allow', async () => {
      const queue = 'answers'
      const stop = await startOurs({ queue, replyQueues: ['given'] })
      const channel = await driver.createChannel()
      for (const name of ['given', 'other']) await channel.assertQueue(name)
      const request = Buffer.from('{"pattern":"echo","data":1,"id":"7"}')
      for (const name of ['other', 'given'])
        channel.sendToQueue(queue, request, { replyTo: name, correlationId: '7' })
      await until('the answer', async () => (await channel.checkQueue('given')).messageCount === 1)
      assert.equal((await channel.checkQueue('other')).messageCount, 0)
      await log.has("its reply address 'other' is not an inbox")
      for (const name of ['given', 'other', queue]) await channel.deleteQueue(name)
      await stop()
    })

    it('different options for one queue are an error with the reason', async () => {
      const queue = 'differing'
      const stop = await startOurs({ queue })
      await assert.rejects(
        startOurs({ queue, queueOptions: { durable: false } }),
        /PRECONDITION_FAILED.*durable/
      )
      await stop()
    })
  })
}
