/**
 * `@EventPattern('…', { durable: … })`, with NestJS's own argument for options, in a NestJS application and in a
 * service with controllers.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MicroserviceServer } from '@elysia-microservices/nestjs'
import { tcp } from '@elysia-microservices/tcp'
import { Discard, ManualClock, RetryLater } from '@elysia-microservices/transport'
import { Controller, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Ctx, EventPattern, MessagePattern, Payload, RpcException } from '@nestjs/microservices'
import { memory, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import type { RpcContext } from 'elysia-microservices/nest'

const seen: string[] = []

@Controller()
class Payments {
  @EventPattern('paid', { durable: { retry: { attempts: 3, minDelay: 1_000, factor: 1 } } })
  paid(@Payload() data: string, @Ctx() context: unknown): void {
    const { message } = context as RpcContext
    seen.push(`${data} ${message.delivery?.attempt}`)
    if (data === 'bad') throw new Error('broken')
    // NestJS's filters replace all errors except RpcException.
    if (data === 'unwanted') throw new RpcException(new Discard('known'))
    if (data === 'later' && message.delivery?.attempt === 1) throw new RpcException(new RetryLater(5_000))
  }

  @EventPattern('paid')
  noted(@Payload() data: string): void {
    seen.push(`${data} plain`)
  }

  @MessagePattern('audited')
  isAudited(): boolean {
    return true
  }

  @EventPattern('audited')
  notedForAudit(@Payload() data: string): void {
    seen.push(`${data} plain`)
  }

  @EventPattern('audited', { durable: {} })
  audited(@Payload() data: string): void {
    seen.push(`${data} audited`)
  }
}

@Module({ controllers: [Payments] })
class App {}

class Wrong {
  @MessagePattern('asked', { durable: {} })
  asked(): void {}
}

@Module({ controllers: [Wrong] })
class WrongApp {}

class Twice {
  @EventPattern('paid', { durable: {} })
  one(@Payload() _data: unknown): void {}

  @EventPattern('paid', { durable: {} })
  two(@Payload() _data: unknown): void {}
}

@Module({ controllers: [Twice] })
class TwiceApp {}

type Start = (transport: ReturnType<typeof memory>) => Promise<() => Promise<unknown>>

const STARTS: Readonly<Record<string, Start>> = {
  'a Nest application': async (transport) => {
    const strategy = new MicroserviceServer({ name: 'billing', transport, logger: { error() {}, warn() {} } })
    const app = await NestFactory.createMicroservice(App, { strategy, logger: false })
    await app.listen()
    return () => app.close()
  },
  'a service with controllers': async (transport) => {
    const logger = { error() {}, warn() {} }
    const service = microservice({ name: 'billing', transport, controllers: [Payments], logger })
    await service.listen()
    return () => service.stop()
  }
}

for (const [where, start] of Object.entries(STARTS)) {
  describe(`durable events in ${where}`, () => {
    it('are retried, discarded, retried later and kept as dead letters', async () => {
      seen.length = 0
      const clock = new ManualClock()
      const transport = memory({ clock })
      const stop = await start(transport)
      const client = connect({ transport })
      for (const data of ['good', 'bad', 'unwanted', 'later']) await client.publish('paid', data)
      await clock.advance(10_000)
      assert.deepEqual(
        seen.filter((line) => !line.endsWith('plain')),
        ['good 1', 'bad 1', 'unwanted 1', 'later 1', 'bad 2', 'bad 3', 'later 2']
      )
      assert.equal(seen.filter((line) => line.endsWith('plain')).length, 4)
      const letters: unknown[] = []
      for await (const { data, attempts } of client.group('billing').deadLetters.list())
        letters.push([data, attempts])
      assert.deepEqual(letters, [['bad', 3]])
      await client.close()
      await stop()
    })

    it('reach a handler whose pattern is one of requests, too', async () => {
      seen.length = 0
      const clock = new ManualClock()
      const transport = memory({ clock })
      const stop = await start(transport)
      const client = connect({ transport })
      await client.publish('audited', 'the books')
      assert.equal(await client.request('audited'), true)
      await clock.advance(1_000)
      assert.deepEqual(seen.sort(), ['the books audited', 'the books plain'])
      await client.close()
      await stop()
    })
  })
}

describe('a Nest application with durable events', () => {
  it('is refused on a transport that stores nothing', async () => {
    const strategy = new MicroserviceServer({ name: 'billing', transport: tcp({ port: 0 }) })
    const app = await NestFactory.createMicroservice(App, { strategy, logger: false })
    await assert.rejects(app.listen(), /'paid' is durable, and tcp stores no events/)
  })

  it('has them in a store beside its transport', async () => {
    seen.length = 0
    const clock = new ManualClock()
    const store = memory({ clock })
    const strategy = new MicroserviceServer({ name: 'billing', port: 0, store })
    const app = await NestFactory.createMicroservice(App, { strategy, logger: false })
    await app.listen()
    const client = connect({ port: strategy.address?.port as number, store })
    assert.equal(await client.request('audited'), true)
    await client.publish('paid', 'published')
    await client.emit('audited', 'emitted')
    while (seen.length < 2) await clock.advance(1)
    await clock.advance(1)
    assert.deepEqual(seen.sort(), ['emitted audited', 'emitted plain', 'published 1'])
    await client.close()
    await app.close()
  })

  it('recurs by its rule, with a store beside the transport, too', async () => {
    for (const isBeside of [false, true]) {
      const came: string[] = []
      @Controller()
      class Hourly {
        @EventPattern('hourly', { durable: { every: { cron: '6 * * * *', timeZone: 'UTC' } } })
        hourly(@Payload() { due }: { due: string }): void {
          came.push(due.slice(5, 16))
        }
      }
      const clock = new ManualClock(Date.UTC(2026, 0, 1))
      const events = memory({ clock })
      const strategy = new MicroserviceServer({
        name: 'reports',
        ...(isBeside ? { port: 0, store: events } : { transport: events })
      })
      const module = { module: class {}, controllers: [Hourly] }
      const app = await NestFactory.createMicroservice(module, { strategy, logger: false })
      await app.listen()
      await clock.advance(2 * 3_600_000)
      assert.deepEqual(came, ['01-01T00:06', '01-01T01:06'])
      await app.close()
      await clock.advance(3_600_000)
      assert.equal(came.length, 2)
    }
  })

  it('is refused if the handler of a request is to be durable', async () => {
    const strategy = new MicroserviceServer({ name: 'billing', transport: memory() })
    const app = await NestFactory.createMicroservice(WrongApp, {
      strategy,
      logger: false,
      abortOnError: false
    })
    await assert.rejects(app.listen(), /'asked' cannot be durable/)
  })

  it('is refused for two handlers of one event in one group', async () => {
    const strategy = new MicroserviceServer({ name: 'billing', transport: memory() })
    const app = await NestFactory.createMicroservice(TwiceApp, {
      strategy,
      logger: false,
      abortOnError: false
    })
    await assert.rejects(app.listen(), /'paid' has two handlers in the group of the service/)
  })
})
