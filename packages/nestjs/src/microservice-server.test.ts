import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { ListenError, TcpServer } from '@elysia-microservices/transport'
import { type CallHandler, Controller, type NestInterceptor, UseInterceptors } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  Ctx,
  EventPattern,
  MessagePattern,
  type MicroserviceOptions,
  Payload,
  Transport
} from '@nestjs/microservices'
import { EMPTY, firstValueFrom, type Observable, of, tap, throwError, timer } from 'rxjs'
import { type MicroserviceContext, MicroserviceServer, type MicroserviceServerOptions } from './index.ts'
import { stubHttpAdapter } from './testing/http-adapter.ts'
import { ask, clientOf, errorOf, Log, later, moduleOf, PROTOCOLS, startService } from './testing/service.ts'

const seen: unknown[] = []
let begun = later()
let release = later<string>()

@Controller()
class SlowController {
  @MessagePattern('slow')
  slow(): Promise<string> {
    begun.resolve()
    return release.promise
  }

  @EventPattern('slow-event')
  async slowEvent(data: unknown): Promise<void> {
    begun.resolve()
    await release.promise
    seen.push(data)
  }

  @MessagePattern('echo')
  echo(data: unknown): unknown {
    return data
  }
}

describe('a MicroserviceServer', () => {
  it('says when it listens and when it has stopped, once each', async () => {
    const server = new MicroserviceServer({ host: '127.0.0.1', port: 0 })
    const said: string[] = []
    server.status.subscribe((status) => said.push(status))
    server.on('listening', () => said.push('listening'))
    server.on('close', () => said.push('close'))
    assert.throws(() => server.unwrap(), /Not initialized/)
    assert.equal(server.address, undefined)
    const app = await NestFactory.createMicroservice<MicroserviceOptions>(moduleOf({}), {
      strategy: server,
      logger: new Log(),
      abortOnError: false
    })
    await app.listen()
    assert.ok(app.unwrap<TcpServer>() instanceof TcpServer)
    assert.notEqual(server.unwrap().address?.port, 0)
    await Promise.all([app.close(), server.close()])
    assert.equal(server.address, undefined)
    assert.deepEqual(said, ['connected', 'listening', 'disconnected', 'close'])
  })

  it('rejects listen() if its port is taken', async () => {
    const first = await startService({ controllers: [SlowController] })
    const server = new MicroserviceServer({ host: '127.0.0.1', port: first.port })
    const said: unknown[] = []
    server.status.subscribe((status) => said.push(status))
    server.on('error', (error) => said.push(error))
    const app = await NestFactory.createMicroservice<MicroserviceOptions>(moduleOf({}), {
      strategy: server,
      logger: new Log(),
      abortOnError: false
    })
    await assert.rejects(app.listen(), { code: 'EADDRINUSE' })
    assert.equal(said[0], 'disconnected')
    assert.ok(said[1] instanceof ListenError)
    await app.close()
    await first.app.close()
  })

  it('is made by a factory with what is injected', async () => {
    const CONFIG = 'CONFIG'
    const server = new MicroserviceServer({ host: '127.0.0.1', port: 0 })
    const app = await NestFactory.createMicroservice(
      moduleOf({ controllers: [SlowController], providers: [{ provide: CONFIG, useValue: 'config' }] }),
      {
        inject: [CONFIG],
        useFactory: (config: string) => {
          seen.push(config)
          return { strategy: server }
        },
        logger: new Log(),
        abortOnError: false
      }
    )
    await app.listen()
    const client = clientOf(server.address!, 'rsocket')
    assert.equal(await ask(client, 'echo', 1), 1)
    assert.equal(seen.pop(), 'config')
    await client.close()
    await app.close()
  })

  const REFUSED: [Record<string, unknown>, RegExp][] = [
    [{ serializer: {} }, /options\.serializer: .*pipes and interceptors/],
    [{ deserializer: {} }, /options\.deserializer/],
    [{ socketClass: class {} }, /options\.socketClass/],
    [{ tlsOptions: {} }, /options\.tlsOptions: .*no TLS/],
    [{ retryAttempts: 3 }, /options\.retryAttempts/],
    [{ retryDelay: 3 }, /options\.retryDelay/],
    [{ transport: Transport.TCP, options: {} }, /options\.transport: .*beside each other/],
    [{ options: { port: 1 } }, /options\.options/],
    [{ codec: 'json' }, /options\.codec: .*the client chooses/],
    [{ protocol: 'nest' }, /options\.protocol/],
    [{ port: 70_000 }, /options\.port/],
    [{ drain: -1 }, /options\.drain/]
  ]
  for (const [options, message] of REFUSED) {
    it(`refuses ${Object.keys(options).join(', ')}, saying why`, () => {
      assert.throws(() => new MicroserviceServer(options as MicroserviceServerOptions), {
        name: 'ValidationError',
        message
      })
    })
  }

  it('takes an undefined option for none', () => {
    new MicroserviceServer({ serializer: undefined, drain: undefined } as MicroserviceServerOptions)
  })

  it('refuses events that do not exist', () => {
    const server = new MicroserviceServer()
    assert.throws(() => server.on('connection' as 'close', () => {}), /'listening', 'close', 'error'/)
  })

  it('refuses a RegExp as pattern when the application starts', async () => {
    @Controller()
    class KafkaController {
      @EventPattern(/orders\..*/)
      any(_data: unknown): void {}
    }
    await assert.rejects(startService({ controllers: [KafkaController] }), /Transport\.KAFKA/)
  })

  it('leaves handlers of other transports to them', async () => {
    @Controller()
    class MixedController {
      @MessagePattern('ours', Transport.TCP)
      ours(): string {
        return 'tcp'
      }

      @MessagePattern('theirs', Transport.NATS)
      theirs(): string {
        return 'nats'
      }
    }
    const service = await startService({ controllers: [MixedController] })
    const client = clientOf(service, 'rsocket')
    assert.equal(await ask(client, 'ours', 1), 'tcp')
    assert.match(String(await errorOf(client, 'theirs', 1)), /no matching message handler/)
    await client.close()
    await service.app.close()
  })

  it('warns of two handlers of one message pattern; the later one answers, as in Nest', async () => {
    @Controller()
    class TwiceController {
      @MessagePattern('twice')
      first(): string {
        return 'first'
      }

      @MessagePattern('twice')
      second(): string {
        return 'second'
      }
    }
    const service = await startService({ controllers: [TwiceController] })
    assert.ok(service.log.warnings.some((line) => line.includes('Two handlers of the message pattern twice')))
    const client = clientOf(service, 'rsocket')
    assert.equal(await ask(client, 'twice', 1), 'second')
    await client.close()
    await service.app.close()
  })

  it('can be looked up otherwise by a subclass', async () => {
    class PrefixServer extends MicroserviceServer {
      override getHandlerByPattern(pattern: string) {
        return super.getHandlerByPattern(pattern.split('.')[0] as string)
      }
    }
    const server = new PrefixServer({ host: '127.0.0.1', port: 0 })
    const app = await NestFactory.createMicroservice<MicroserviceOptions>(
      moduleOf({ controllers: [SlowController] }),
      { strategy: server, logger: new Log(), abortOnError: false }
    )
    await app.listen()
    const client = clientOf(server.address!, 'nest')
    assert.equal(await ask(client, 'echo.anything', 1), 1)
    await client.close()
    await app.close()
  })
})

for (const protocol of PROTOCOLS) {
  describe(`a Nest application that closes, on ${protocol}`, () => {
    it('answers what is in flight, lets events end, then closes', async () => {
      const service = await startService({ controllers: [SlowController] })
      const client = clientOf(service, protocol)
      seen.length = 0
      begun = later()
      release = later<string>()
      client.emit('slow-event', 'event')
      await begun.promise
      begun = later()
      const answer = ask(client, 'slow', {})
      await begun.promise
      const closed = service.app.close()
      release.resolve('in time')
      assert.equal(await answer, 'in time')
      await closed
      assert.deepEqual(seen, ['event'])
      await assert.rejects(client.connect(), { code: 'ECONNREFUSED' })
      await client.close()
    })

    it('cuts what takes longer than drain; the caller learns it', async () => {
      const service = await startService({ controllers: [SlowController] }, { drain: 10 })
      const client = clientOf(service, protocol)
      begun = later()
      release = later<string>()
      const error = errorOf(client, 'slow', {})
      await begun.promise
      await service.app.close()
      assert.match(String(await error), /Connection closed/)
      await client.close()
    })
  })
}

@Controller()
class EventController {
  @EventPattern('mixed')
  fails(_data: unknown): Observable<never> {
    seen.push('fails')
    return throwError(() => new Error('one fails'))
  }

  @EventPattern('mixed')
  isEmpty(_data: unknown): Observable<never> {
    return EMPTY
  }

  @EventPattern('mixed')
  goesOn(_data: unknown): Observable<unknown> {
    return timer(5).pipe(tap(() => release.resolve('went on')))
  }

  @EventPattern('both')
  event(data: unknown): void {
    seen.push(['event', data])
  }

  @MessagePattern('both')
  message(data: unknown): unknown {
    return ['message', data]
  }

  @MessagePattern('message-only')
  messageOnly(data: unknown): unknown {
    seen.push(['message-only', data])
    return data
  }

  @EventPattern('one')
  one(data: unknown): unknown {
    return data
  }

  @EventPattern('three')
  three1(_data: unknown): number {
    return 1
  }

  @EventPattern('three')
  three2(_data: unknown): Promise<Observable<number>> {
    return Promise.resolve(of(2))
  }

  @EventPattern('three')
  *three3(_data: unknown): Generator<number> {
    yield 3
  }
}

for (const protocol of PROTOCOLS) {
  describe(`event handlers of a Nest application on ${protocol}`, () => {
    it('all run, whatever becomes of the others', async () => {
      const service = await startService({ controllers: [EventController] }, { drain: 10 })
      const client = clientOf(service, protocol)
      seen.length = 0
      release = later<string>()
      client.emit('mixed', {})
      assert.equal(await release.promise, 'went on')
      assert.deepEqual(seen, ['fails'])
      await service.log.failed('one fails')
      await client.close()
      await service.app.close()
    })

    it('stand beside a message handler of their pattern, and a message handler takes events alone', async () => {
      const service = await startService({ controllers: [EventController] })
      const client = clientOf(service, protocol)
      seen.length = 0
      client.emit('both', 1)
      client.emit('message-only', 2)
      assert.deepEqual(await ask(client, 'both', 3), ['message', 3])
      assert.deepEqual(seen, [
        ['event', 1],
        ['message-only', 2]
      ])
      await client.close()
      await service.app.close()
    })

    it('answer requests as in Nest, each result nested in the one before', async () => {
      const service = await startService({ controllers: [EventController] })
      const client = clientOf(service, protocol)
      assert.equal(await ask(client, 'one', 'r'), 'r')
      assert.deepEqual(await ask(client, 'three', {}), { current: 1, next: { current: 2, next: 3 } })
      await client.close()
      await service.app.close()
    })

    it('are missed in the log', async () => {
      const service = await startService({ controllers: [EventController] })
      const client = clientOf(service, protocol)
      client.emit('unknown', {})
      await service.log.failed('There is no matching event handler defined in the remote service')
      await client.close()
      await service.app.close()
    })
  })
}

const tracing = new AsyncLocalStorage<string>()

class PassInterceptor implements NestInterceptor {
  intercept(_context: unknown, next: CallHandler): Observable<unknown> {
    return next.handle()
  }
}

@Controller()
class TracedController {
  @MessagePattern('value')
  value(): unknown {
    return tracing.getStore()
  }

  @UseInterceptors(PassInterceptor)
  @MessagePattern('intercepted')
  intercepted(): unknown {
    return tracing.getStore()
  }

  @MessagePattern('waits')
  waits(@Payload() _data: unknown, @Ctx() { signal }: MicroserviceContext): Promise<void> {
    begun.resolve()
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
  }

  @EventPattern('event')
  event(_data: unknown): void {
    seen.push(`in ${tracing.getStore()}`)
  }
}

for (const protocol of PROTOCOLS) {
  describe(`processing hooks on ${protocol}`, () => {
    it('surround each message once, handlers run in the async context of the start hook', async () => {
      const service = await startService({ controllers: [TracedController] })
      const { server } = service
      const ends: unknown[] = []
      let eventEnded = later()
      server.setOnProcessingStartHook((_transport, context, done) => {
        void tracing.run(`span of ${(context as MicroserviceContext).getPattern()}`, done)
      })
      server.setOnProcessingEndHook((transport, context) => {
        assert.equal(transport, Transport.TCP)
        const pattern = (context as MicroserviceContext).getPattern()
        ends.push(pattern)
        if (pattern === 'event') eventEnded.resolve()
      })
      const client = clientOf(service, protocol)
      seen.length = 0
      eventEnded = later()
      assert.equal(await ask(client, 'value', {}), 'span of value')
      assert.equal(await ask(client, 'intercepted', {}), 'span of intercepted')
      client.emit('event', {})
      await eventEnded.promise
      assert.deepEqual(seen, ['in span of event'])
      assert.deepEqual(ends, ['value', 'intercepted', 'event'])
      await client.close()
      await service.app.close()
    })

    it('end a message whose caller has left', async () => {
      const service = await startService({ controllers: [TracedController] })
      const ended = later<unknown>()
      service.server.setOnProcessingEndHook((_transport, context) =>
        ended.resolve((context as MicroserviceContext).getPattern())
      )
      const client = clientOf(service, protocol)
      begun = later()
      const subscription = client.send('waits', {}).subscribe({ error() {} })
      await begun.promise
      subscription.unsubscribe()
      await client.close()
      assert.equal(await ended.promise, 'waits')
      await service.app.close()
    })

    it('that fail are internal errors, and no call hangs', async () => {
      const service = await startService({ controllers: [TracedController] })
      const client = clientOf(service, protocol)
      const expected = { status: 'error', message: 'Internal server error' }
      service.server.setOnProcessingStartHook(() => {
        throw new Error('the hook throws')
      })
      assert.deepEqual(await errorOf(client, 'value', {}), expected)
      await service.log.failed('the hook throws')
      service.server.setOnProcessingStartHook((async () => {
        throw new Error('the hook rejects')
      }) as never)
      assert.deepEqual(await errorOf(client, 'value', {}), expected)
      client.emit('event', {})
      await service.log.failed('the hook rejects')
      await client.close()
      await service.app.close()
    })
  })
}

describe('a hybrid application', () => {
  it('serves HTTP and messages, shares its providers, and closes both', async () => {
    const app = await NestFactory.create(moduleOf({ controllers: [SlowController] }), stubHttpAdapter(), {
      logger: new Log(),
      abortOnError: false
    })
    const first = new MicroserviceServer({ host: '127.0.0.1', port: 0 })
    const second = new MicroserviceServer({ host: '127.0.0.1', port: 0 })
    app.connectMicroservice<MicroserviceOptions>({ strategy: first })
    app.connectMicroservice<MicroserviceOptions>({ strategy: second }, { inheritAppConfig: true })
    await app.startAllMicroservices()
    await app.listen(0)
    const { port } = app.getHttpServer().address() as AddressInfo
    assert.equal(await (await fetch(`http://127.0.0.1:${port}`)).text(), 'http')
    for (const server of [first, second]) {
      const client = clientOf(server.address!, 'rsocket')
      assert.equal(await ask(client, 'echo', 'hybrid'), 'hybrid')
      assert.equal(await firstValueFrom(client.emit('echo', 1)), undefined)
      await client.close()
    }
    await app.close()
    assert.equal(first.address, undefined)
    assert.equal(second.address, undefined)
  })

  it('applies its global enhancers to a microservice that inherits its configuration', async () => {
    const app = await NestFactory.create(moduleOf({ controllers: [SlowController] }), stubHttpAdapter(), {
      logger: new Log(),
      abortOnError: false
    })
    app.useGlobalGuards({ canActivate: () => false })
    const inherits = new MicroserviceServer({ host: '127.0.0.1', port: 0 })
    const alone = new MicroserviceServer({ host: '127.0.0.1', port: 0 })
    app.connectMicroservice<MicroserviceOptions>({ strategy: inherits }, { inheritAppConfig: true })
    app.connectMicroservice<MicroserviceOptions>({ strategy: alone })
    await app.startAllMicroservices()
    const guarded = clientOf(inherits.address!, 'rsocket')
    const open = clientOf(alone.address!, 'rsocket')
    assert.deepEqual(await errorOf(guarded, 'echo', 1), { status: 'error', message: 'Forbidden resource' })
    assert.equal(await ask(open, 'echo', 1), 1)
    await guarded.close()
    await open.close()
    await app.close()
  })
})
