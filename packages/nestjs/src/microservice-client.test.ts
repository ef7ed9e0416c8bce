import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { after, before, beforeEach, describe, it } from 'node:test'
import { TcpClient } from '@elysia-microservices/tcp/kit'
import { DEAF_PORT, freePort } from '@elysia-microservices/test-support'
import { Controller, Logger } from '@nestjs/common'
import { ClientProxy, Ctx, EventPattern, MessagePattern, type ReadPacket } from '@nestjs/microservices'
import { firstValueFrom } from 'rxjs'
import { MicroserviceClient, type MicroserviceClientOptions, type MicroserviceContext } from './index.ts'
import {
  ask,
  clientOf,
  errorOf,
  Log,
  later,
  type OurService,
  PROTOCOLS,
  startService
} from './testing/service.ts'

const seen: unknown[] = []
let asked = 0

@Controller()
class NotesController {
  @MessagePattern('count')
  count(): number {
    return ++asked
  }

  @MessagePattern('seen')
  seen(): unknown {
    return seen
  }

  @MessagePattern('headers')
  headers(_data: unknown, @Ctx() context: MicroserviceContext): unknown {
    return context.headers
  }

  @EventPattern({ type: 'note', v: 1 })
  note(data: unknown): void {
    seen.push(data)
  }
}

for (const protocol of PROTOCOLS) {
  describe(`a MicroserviceClient on ${protocol}`, () => {
    let service: OurService
    before(async () => {
      service = await startService({ controllers: [NotesController] })
    })
    after(() => service.app.close())
    beforeEach(() => {
      seen.length = 0
      asked = 0
    })

    async function withClient(test: (client: MicroserviceClient) => Promise<void>): Promise<void> {
      const client = clientOf(service, protocol)
      await test(client)
      await client.close()
    }

    it('is a ClientProxy', () =>
      withClient(async (client) => {
        assert.ok(client instanceof ClientProxy)
      }))

    it('lets a dispatch hook attach metadata to requests and events', () =>
      withClient(async (client) => {
        const packets: ReadPacket[] = []
        client.setOnDispatchHook((packet) => {
          packets.push(packet)
          packet.metadata = { trace: '1' }
        })
        assert.deepEqual(await ask(client, 'headers', {}), { trace: '1' })
        await firstValueFrom(client.emit({ type: 'note', v: 1 }, 1))
        assert.deepEqual(
          packets.map(({ data }) => data),
          [{}, 1]
        )
      }))

    it('tells its status and its events, also of connections it makes again', async () => {
      const client = clientOf(service, protocol)
      const said: string[] = []
      const closed = later()
      client.status.subscribe((status) => {
        said.push(status)
        if (said.length === 4) closed.resolve()
      })
      client.on('connect', () => said.push('connect'))
      client.on('close', () => said.push('close'))
      assert.throws(() => client.unwrap(), /Not initialized/)
      assert.equal(await client.connect(), undefined)
      assert.ok(client.unwrap() instanceof TcpClient)
      await client.connect()
      assert.deepEqual(said, ['connected', 'connect'])
      await client.close()
      assert.throws(() => client.unwrap(), /Not initialized/)
      assert.deepEqual(said, ['connected', 'connect', 'disconnected', 'close'])
      // As in Nest, callbacks end with `close()`, but the status Observable continues.
      assert.equal(await ask(client, 'count', {}), 1)
      await client.close()
      assert.deepEqual(said.slice(4), ['connected', 'disconnected'])
    })

    it('connects again after its connection was lost', async () => {
      const sockets: net.Socket[] = []
      const proxy = net.createServer((socket) => {
        const upstream = net.connect(service.port, '127.0.0.1')
        sockets.push(socket)
        socket.on('error', () => {}).pipe(upstream)
        upstream.on('error', () => {}).pipe(socket)
        socket.on('close', () => upstream.destroy())
      })
      proxy.listen(0, '127.0.0.1')
      await once(proxy, 'listening')
      const client = clientOf({ port: (proxy.address() as net.AddressInfo).port }, protocol)
      const lost = later()
      client.on('close', () => lost.resolve())
      assert.equal(await ask(client, 'count', {}), 1)
      sockets[0]!.destroy()
      await lost.promise
      assert.equal(await ask(client, 'count', {}), 2)
      await client.close()
      proxy.close()
    })

    it('lets calls wait for a service that is away, if it reconnects by itself', async () => {
      const port = await freePort()
      const first = await startService({ controllers: [NotesController] }, { port })
      const client = clientOf({ port }, protocol, { reconnect: true })
      const lost = later()
      client.on('close', () => lost.resolve())
      assert.equal(await ask(client, 'count', {}), 1)
      await first.app.close()
      await lost.promise
      const answered = ask(client, 'count', {})
      client.emit({ type: 'note', v: 1 }, 'while it was away')
      const second = await startService({ controllers: [NotesController] }, { port })
      assert.equal(await answered, 2)
      assert.deepEqual(await ask(client, 'seen', {}), ['while it was away'])
      await client.close()
      await second.app.close()
    })

    it('knows that it is connected again after a close() that nobody awaited', async () => {
      const client = clientOf(service, protocol)
      const said: string[] = []
      client.status.subscribe((status) => said.push(status))
      await client.connect()
      const closed = client.close()
      assert.equal(await ask(client, 'count', {}), 1)
      await closed
      assert.equal(said.at(-1), 'connected')
      assert.ok(client.unwrap() instanceof TcpClient)
      await client.close()
      assert.equal(said.at(-1), 'disconnected')
    })

    it('resolves a connect() that its own close() has overtaken, as in Nest', async () => {
      const client = clientOf(service, protocol)
      const connected = client.connect()
      await client.close()
      assert.equal(await connected, undefined)
      assert.throws(() => client.unwrap(), /Not initialized/)
      assert.equal(await ask(client, 'count', {}), 1)
      await client.close()
    })

    it('says that it could not connect, and connects when it can', async () => {
      const port = await freePort()
      const client = clientOf({ port }, protocol)
      const said: unknown[] = []
      client.status.subscribe((status) => said.push(status))
      client.on('error', (error) => said.push(error))
      await assert.rejects(client.connect(), { code: 'ECONNREFUSED' })
      assert.equal(said[0], 'disconnected')
      assert.ok(said[1] instanceof Error)
      const late = await startService({ controllers: [NotesController] }, { port })
      assert.equal(await ask(client, 'count', {}), 1)
      await client.close()
      await late.app.close()
    })

    it('logs a failed event that nobody subscribed to, and no other', async () => {
      const log = new Log()
      Logger.overrideLogger(log)
      const client = clientOf({ port: DEAF_PORT }, protocol)
      await assert.rejects(firstValueFrom(client.emit('subscribed', 1)))
      assert.deepEqual(log.errors, [])
      client.emit({ type: 'unseen' }, 1)
      await log.failed("The event { type: 'unseen' } was not sent")
      await log.failed('ECONNREFUSED')
      client.emit('unseen', null)
      await log.failed('The invalid data or message pattern')
      await client.close()
    })

    it('settles what was called before close() and not sent yet', async () => {
      const client = clientOf(service, protocol)
      const answers = [errorOf(client, 'count', {}), errorOf(client, 'count', {})]
      void client.close()
      for (const error of await Promise.all(answers)) assert.ok(error instanceof Error)
      await client.connect()
      const late = errorOf(client, 'count', {})
      void client.close()
      assert.ok((await late) instanceof Error)
      await assert.rejects(firstValueFrom(client.emit('count', undefined as unknown)))
    })

    it('can be told how errors look to subscribers, as Nest users do it', async () => {
      class RemoteError extends Error {}
      class ErrorClient extends MicroserviceClient {
        protected override serializeError(error: { message: string } | string): Error {
          return new RemoteError(typeof error === 'string' ? error : error.message)
        }
      }
      const client = new ErrorClient({ host: '127.0.0.1', port: service.port, protocol })
      const error = await errorOf(client, 'unknown', {})
      assert.ok(error instanceof RemoteError)
      assert.match(error.message, /no matching message handler/)
      await client.close()
    })
  })
}

describe('a MicroserviceClient', () => {
  const REFUSED: [Record<string, unknown>, RegExp][] = [
    [{ serializer: {} }, /options\.serializer .*pipes and interceptors/],
    [{ deserializer: {} }, /options\.deserializer/],
    [{ socketClass: class {} }, /options\.socketClass/],
    [{ tlsOptions: { pfx: 'x' } }, /options\.tls\.pfx/],
    [{ tlsOptions: {}, tls: {} }, /options\.tlsOptions is the same as options\.tls/],
    [{ options: {} }, /options\.options .*given directly/],
    [{ protocol: 'http' }, /options\.protocol/],
    [{ codec: 'xml' }, /options\.codec/],
    [{ timeout: 0 }, /options\.timeout/],
    [{ logger: {} }, /options\.logger must be an object with the functions error and warn/],
    [
      { lease: true },
      /options\.lease is not an option of a TCP client; did you mean options\.rsocket\.lease\?/
    ]
  ]
  for (const [options, message] of REFUSED) {
    it(`refuses ${JSON.stringify(options)}, saying why`, () => {
      assert.throws(() => new MicroserviceClient(options as MicroserviceClientOptions), {
        name: 'OptionError',
        message
      })
    })
  }

  it('refuses events that do not exist', () => {
    const client = new MicroserviceClient()
    assert.throws(() => client.on('lookup' as 'close', () => {}), /'connect', 'close', 'error'/)
  })

  it('goes on if a callback throws, and logs it', async () => {
    const log = new Log()
    const service = await startService({ controllers: [NotesController] })
    Logger.overrideLogger(log)
    const client = clientOf(service, 'rsocket')
    client.on('connect', () => {
      throw new Error('the callback is broken')
    })
    assert.ok((await ask(client, 'count', {})) as number)
    await log.failed('the callback is broken')
    await client.close()
    await service.app.close()
  })
})
