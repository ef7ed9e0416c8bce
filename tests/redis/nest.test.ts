/** NestJS and this library on one Redis server: what callers get, and the bytes on the channels. */
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { redis } from '@elysia-microservices/redis'
import { isMissing, until } from '@elysia-microservices/test-support'
import { Controller, type INestMicroservice, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  type ClientProxy,
  ClientProxyFactory,
  Ctx,
  EventPattern,
  MessagePattern,
  type MicroserviceOptions,
  Payload,
  type RedisContext,
  RpcException,
  Transport
} from '@nestjs/microservices'
import { microservice } from 'elysia-microservices'
import { connect, PatternNotFoundError, RpcError, type UntypedClient } from 'elysia-microservices/client'
import { Redis } from 'ioredis'
import { firstValueFrom, from, lastValueFrom, toArray } from 'rxjs'
import { RedisServerProcess, redisMissing } from '../support/redis-server.ts'

const seen: unknown[] = []

/** A controller as NestJS's documentation for Redis shows it. */
@Controller()
class OrdersController {
  @MessagePattern('echo')
  echo(@Payload() data: unknown): unknown {
    return data
  }

  @MessagePattern({ b: 1, a: 'x' })
  object(): string {
    return 'object'
  }

  @MessagePattern('time.us.*')
  time(@Payload() data: unknown, @Ctx() context: RedisContext): unknown {
    return [context.getChannel(), data]
  }

  @MessagePattern('values')
  values(): unknown {
    return from([1, 2, 3])
  }

  @MessagePattern('refuses')
  refuses(@Payload() data: object): never {
    throw new RpcException(data)
  }

  @EventPattern('created')
  created(@Payload() data: unknown): void {
    seen.push(data)
  }
}

@Module({ controllers: [OrdersController] })
class OrdersModule {}

/** The same service with our API. */
function ours(url: string) {
  return microservice({ name: 'orders', transport: redis({ url }), logger: { error() {}, warn() {} } })
    .message('echo', ({ data }) => data)
    .message({ a: 'x', b: 1 }, () => 'object')
    .message('time.us.*', ({ data, pattern }) => [pattern, data])
    .message('values', () => from([1, 2, 3]))
    .message('refuses', ({ data }) => {
      throw new RpcException(data as object)
    })
    .event('created', ({ data }) => void seen.push(data))
}

if (!isMissing('Nest and our transport over Redis', redisMissing())) {
  describe('over Redis', () => {
    let server: RedisServerProcess
    let tap: Redis
    let asker: Redis
    const lines: string[] = []
    before(async () => {
      server = await RedisServerProcess.start()
      tap = new Redis(server.url)
      asker = new Redis(server.url)
      tap.on('message', (channel, text) => lines.push(`${channel} ${text}`))
      await tap.subscribe('echo', 'echo.reply', 'created')
    })
    after(async () => {
      tap.disconnect()
      asker.disconnect()
      await server.stop()
    })

    async function taken(count: number): Promise<string[]> {
      await until(`${count} messages on Nest's channels`, () => lines.length >= count)
      return lines.map((line) => line.replace(/"id":"[^"]+"/, '"id":"ID"'))
    }

    for (const name of ['Nest', 'ours'] as const) {
      describe(`a service of ${name}`, () => {
        let stop: () => Promise<unknown>
        let nest: ClientProxy
        let own: UntypedClient
        before(async () => {
          seen.length = 0
          if (name === 'Nest') {
            const app: INestMicroservice = await NestFactory.createMicroservice<MicroserviceOptions>(
              OrdersModule,
              {
                transport: Transport.REDIS,
                options: { host: '127.0.0.1', port: server.port, wildcards: true },
                logger: false
              }
            )
            await app.listen()
            stop = () => app.close()
          } else {
            const service = ours(server.url)
            await service.listen()
            stop = () => service.stop()
          }
          nest = ClientProxyFactory.create({
            transport: Transport.REDIS,
            options: { host: '127.0.0.1', port: server.port }
          })
          own = connect({ transport: redis({ url: server.url }) })
          // NestJS's listen() does not wait for its subscriptions.
          if (name === 'Nest')
            await until('its subscriptions', async () => Number(await asker.pubsub('NUMPAT')) === 6)
          lines.length = 0
        })
        after(async () => {
          await own.close()
          await nest.close()
          await stop()
        })
        it("answers Nest's client", async () => {
          const ask = (pattern: unknown, data: unknown = 0) => firstValueFrom(nest.send(pattern, data))
          assert.deepEqual(await ask('echo', { a: [1, 'é'] }), { a: [1, 'é'] })
          assert.equal(await ask({ b: 1, a: 'x' }), 'object')
          assert.deepEqual(await lastValueFrom(nest.send('values', 0).pipe(toArray())), [1, 2, 3])
          assert.deepEqual(await ask('time.us.east', 1), ['time.us.east', 1])
          await assert.rejects(ask('refuses', { code: 7 }), (error) => {
            assert.deepEqual(error, { code: 7 })
            return true
          })
          const many = await Promise.all(Array.from({ length: 10 }, (_, index) => ask('echo', index)))
          assert.deepEqual(many, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        })

        it('answers our client', async () => {
          assert.deepEqual(await own.request('echo', { a: [1, 'é'] }), { a: [1, 'é'] })
          assert.equal(await own.request({ b: 1, a: 'x' }), 'object')
          assert.deepEqual(await lastValueFrom(own.send('values').pipe(toArray())), [1, 2, 3])
          assert.deepEqual(await own.request('time.us.east', 1), ['time.us.east', 1])
          await assert.rejects(own.request('refuses', { code: 'NO', message: 'no' }), (error) => {
            assert.ok(error instanceof RpcError)
            assert.deepEqual([error.code, error.message], ['NO', 'no'])
            return true
          })
          const many = await Promise.all(Array.from({ length: 10 }, (_, index) => own.request('echo', index)))
          assert.deepEqual(many, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        })

        it('gets events of both clients, once', async () => {
          await lastValueFrom(nest.emit('created', 'by Nest'), { defaultValue: undefined })
          await until('the event', () => seen.length === 1)
          await own.emit('created', 'by us')
          await own.emit('created', 'the end')
          await until('the events', () => seen.length >= 3)
          assert.deepEqual(seen, ['by Nest', 'by us', 'the end'])
        })

        it('and its clients write what Nest writes', async () => {
          lines.length = 0
          await firstValueFrom(nest.send('echo', { x: 1 }))
          assert.deepEqual(await taken(2), [
            'echo {"pattern":"echo","data":{"x":1},"id":"ID"}',
            'echo.reply {"response":{"x":1},"isDisposed":true,"id":"ID"}'
          ])
          lines.length = 0
          await own.request('echo', { x: 1 })
          await own.emit('created', { e: 1 })
          const reached = name === 'Nest' ? '' : ',"_elysia":["orders"]'
          const event = `created {"pattern":"created","data":{"e":1}${reached}}`
          // Between client and service of this library, no part of a request is on the channels of NestJS.
          const request = [
            'echo {"pattern":"echo","data":{"x":1},"id":"ID"}',
            'echo.reply {"response":{"x":1},"isDisposed":true,"id":"ID"}'
          ]
          const expected = name === 'Nest' ? [...request, event] : [event]
          assert.deepEqual(await taken(expected.length), expected)
        })

        it('gets no request without a handler: our client gets an error at once', async () => {
          await assert.rejects(own.request('unknown'), PatternNotFoundError)
        })
      })
    }
  })
}
