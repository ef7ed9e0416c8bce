/**
 * Tests Nest applications on transports that are passed as values: inside one process, and on several transports at
 * once.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { tcp } from '@elysia-microservices/tcp'
import { memory, type Transport } from '@elysia-microservices/transport'
import { Controller } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Ctx, EventPattern, MessagePattern, type MicroserviceOptions, Payload } from '@nestjs/microservices'
import { firstValueFrom } from 'rxjs'
import {
  MicroserviceClient,
  type MicroserviceContext,
  MicroserviceServer,
  type MicroserviceServerOptions
} from './index.ts'
import { ask, askAll, clientOf, errorOf, Log, later, moduleOf } from './testing/service.ts'

let noted = later<unknown>()

@Controller()
class NotesController {
  @MessagePattern('by')
  by(@Payload() data: unknown, @Ctx() context: MicroserviceContext): unknown {
    return [data, context.getSocketRef()?.address, context.headers]
  }

  @MessagePattern({ cmd: 'count' })
  async *count(data: number): AsyncGenerator<number> {
    for (let value = 1; value <= data; value++) yield value
  }

  @EventPattern('note')
  note(data: unknown): void {
    noted.resolve(data)
  }

  @EventPattern('broken')
  broken(_data: unknown): void {
    throw new Error('the note is broken')
  }
}

async function start(options: MicroserviceServerOptions) {
  const server = new MicroserviceServer(options)
  const log = new Log()
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(
    moduleOf({ controllers: [NotesController] }),
    { strategy: server, logger: log, abortOnError: false }
  )
  await app.listen()
  return { server, app, log }
}

describe('a Nest application in this process, on memory()', () => {
  it('answers, streams and takes events, without an address', async () => {
    const transport = memory()
    const { server, app } = await start({ transport })
    const client = new MicroserviceClient({ transport })
    client.setOnDispatchHook((packet) => {
      packet.metadata = { trace: '1' }
    })
    assert.equal(server.address, undefined)
    assert.equal(server.unwrap<{ name: string }>().name, 'memory')
    assert.deepEqual(await ask(client, 'by', { a: 1 }), [{ a: 1 }, null, { trace: '1' }])
    assert.deepEqual(await askAll(client, { cmd: 'count' }, 3), [1, 2, 3])
    assert.match(String(await errorOf(client, 'unknown', {})), /no matching message handler/)
    noted = later<unknown>()
    await firstValueFrom(client.emit('note', 'kept'))
    assert.equal(await noted.promise, 'kept')
    await client.close()
    await app.close()
  })

  it('logs the failure of an event handler once, in the words of the transport', async () => {
    const transport = memory()
    const { app, log } = await start({ transport })
    const client = new MicroserviceClient({ transport })
    client.emit('broken', 1)
    await log.failed('the note is broken')
    await client.close()
    await app.close()
    assert.equal(log.errors.length, 1)
  })

  it('tells its client when nobody listens', async () => {
    const client = new MicroserviceClient({ transport: memory() })
    await assert.rejects(client.connect(), { name: 'ConnectionError' })
    await client.close()
  })
})

describe('a Nest application on several transports', () => {
  it('answers on all of them, and closes them all', async () => {
    const inside = memory()
    const [first, second] = [
      tcp({ host: '127.0.0.1', port: 0 }),
      tcp({ host: '127.0.0.1', port: 0, limits: { inFlightPerConnection: 10 } })
    ]
    const { server, app } = await start({ transport: [first, second, inside], name: 'notes' })
    assert.deepEqual(server.address, first.address)
    assert.equal(second.stats().connections.current, 0)
    for (const door of [first, second]) {
      const client = clientOf(door.address!, 'rsocket')
      assert.deepEqual(await ask(client, 'by', 1), [1, '127.0.0.1', {}])
      await client.close()
    }
    const client = new MicroserviceClient({ transport: inside })
    assert.deepEqual(await ask(client, 'by', 1), [1, null, {}])
    await client.close()
    await app.close()
    assert.equal(first.address, undefined)
    assert.equal(second.address, undefined)
  })

  it('listens on none of them if one cannot', async () => {
    const taken = await start({ host: '127.0.0.1', port: 0 })
    const free = tcp({ host: '127.0.0.1', port: 0 })
    const { port } = taken.server.address!
    await assert.rejects(start({ transport: [free, tcp({ host: '127.0.0.1', port })] }), {
      code: 'EADDRINUSE'
    })
    assert.equal(free.address, undefined)
    await taken.app.close()
  })

  it('begins no stored event if one of them cannot listen', async () => {
    const kept = memory()
    const client = kept.client({ logger: { error() {}, warn() {} }, timeout: 1_000, dispatcher: undefined })
    const handled = later<unknown>()
    let published = 0
    let isLocked = true
    const { stores: _, ...traits } = kept.traits
    const door: Transport = {
      name: 'door',
      traits,
      client: kept.client,
      server: (context) => ({
        name: 'door',
        async start() {
          await client.durable?.publish('kept', ++published)
          await new Promise(setImmediate)
          if (isLocked) throw new Error('The door is locked')
        },
        stop: async () => {},
        stats: () => kept.server(context).stats()
      })
    }
    const server = new MicroserviceServer({ name: 'notes', transport: [kept, door] })
    const begun: unknown[] = []
    const handle = async (data: unknown) => {
      begun.push(data)
      if (begun.length === 2) handled.resolve(begun)
    }
    server.addHandler('kept', handle, true, { durable: { start: 'all' } })
    const listen = () => new Promise<unknown>((resolve) => server.listen(resolve))
    assert.match(String(await listen()), /The door is locked/)
    assert.deepEqual(begun, [])
    isLocked = false
    assert.equal(await listen(), undefined)
    assert.deepEqual(await handled.promise, [1, 2])
    await server.close()
    await client.close()
  })
})
