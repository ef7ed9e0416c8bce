import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TcpServer } from '@elysia-microservices/tcp/kit'
import { ListenError, memory } from '@elysia-microservices/transport'
import { Controller } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { EventPattern, MessagePattern, type MicroserviceOptions, Transport } from '@nestjs/microservices'
import { MicroserviceServer, type MicroserviceServerOptions } from './index.ts'
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
    assert.notEqual(server.unwrap<TcpServer>().address?.port, 0)
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
    [{ serializer: {} }, /options\.serializer .*pipes and interceptors/],
    [{ deserializer: {} }, /options\.deserializer/],
    [{ socketClass: class {} }, /options\.socketClass/],
    [{ tlsOptions: { pfx: 'x' } }, /options\.tls\.pfx/],
    [{ tlsOptions: {}, tls: {} }, /options\.tlsOptions is the same as options\.tls/],
    [{ retryAttempts: 3 }, /options\.retryAttempts/],
    [{ retryDelay: 3 }, /options\.retryDelay/],
    [
      { transport: Transport.TCP, options: {}, port: 1 },
      /options\.port has no effect beside Nest's transport/
    ],
    [{ maxBufferSize: 1 }, /options\.maxBufferSize is called options\.limits\.receiveBuffer here/],
    [{ maxSendBufferSize: 1 }, /options\.maxSendBufferSize is called options\.limits\.sendBuffer here/],
    [{ incompleteMessageTimeout: 1 }, /is called options\.limits\.incompleteMessage here/],
    [{ transport: Transport.GRPC }, /either options\.protoPath or options\.packageDefinition/],
    [{ transport: 9 as Transport }, /options\.transport .*no counterpart/],
    [{ transport: [] }, /options\.transport must be .*a transport/],
    [{ transport: memory(), port: 1 }, /options\.port has no effect together with options\.transport/],
    [{ options: { port: 1 } }, /options\.options/],
    [{ codec: 'json' }, /options\.codec/],
    [{ protocol: 'nest' }, /options\.protocol .*the client chooses/],
    [{ port: 70_000 }, /options\.port/],
    [{ drain: -1 }, /options\.drain/],
    [{ logger: {} }, /options\.logger must be an object with the functions error and warn/],
    [{ drian: 1 }, /options\.drian is not an option; did you mean options\.drain\?/],
    [{ idle: 1 }, /options\.idle is not an option of a TCP server; did you mean options\.limits\.idle\?/]
  ]
  for (const [options, message] of REFUSED) {
    it(`refuses ${Object.keys(options).join(', ')}, saying why`, () => {
      assert.throws(() => new MicroserviceServer(options as MicroserviceServerOptions), {
        name: 'OptionError',
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
      assert.match(String(await error), /^ConnectionError: The connection to tcp:\S+ was closed$/)
      await client.close()
    })
  })
}
