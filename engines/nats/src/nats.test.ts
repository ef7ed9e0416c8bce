import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Carried } from '@elysia-microservices/engine'
import type { Dispatcher, MessageHeaders, ServerContext } from '@elysia-microservices/transport/kit'
import { natsEngine } from './engine.ts'
import { fromNest } from './from-nest.ts'
import { nats } from './nats.ts'
import { natsOptions } from './options/options.ts'
import { FakeNatsServer } from './testing/fake-server.ts'
import { WireServer } from './testing/wire-server.ts'

describe('nats()', () => {
  it('tells all that it can do', () => {
    const { stores, ...traits } = nats().traits
    assert.deepEqual(traits, {
      wildcards: true,
      hearsNobody: true,
      shares: 'engine',
      headers: true,
      channels: true,
      answerHeaders: true
    })
    assert.deepEqual([stores?.future, stores?.backlog], [true, 'waiting'])
  })

  it("made from NestJS's options gives each event to every process, unless the service has a group or a name", async () => {
    const server = await new WireServer().listen()
    const servers = `127.0.0.1:${server.port}`
    // A group is what NestJS calls a queue.
    for (const [given, isNamed, isShared] of [
      [{}, undefined, false],
      [{}, true, true],
      [{ queue: 'q' }, undefined, true],
      [{ queue: 'q' }, true, true]
    ] as const) {
      const { transport, group } = fromNest({ ...given, servers }, isNamed)
      assert.equal(group, 'queue' in given ? 'q' : undefined)
      const route = { kind: 'event', route: 'p', pattern: 'p' }
      const dispatcher = { routes: () => [route], request: () => undefined, event() {} }
      const context = { name: 'orders', group: 'orders', logger: { error() {}, warn() {} } }
      const service = transport.server(context as unknown as ServerContext)
      server.lines.length = 0
      await service.start(dispatcher as unknown as Dispatcher)
      await service.stop()
      const subscribed = server.lines.filter((line) => line.startsWith('SUB p '))
      assert.deepEqual(
        subscribed.map((line) => line.split(' ').length),
        [isShared ? 4 : 3]
      )
    }
    await server.close()
  })
})

describe('NATS as an engine', () => {
  const server = new FakeNatsServer()
  const engineOf = (service?: Partial<ServerContext>) => {
    const asked: object[] = []
    const driver = {
      connect: (options: object, listener: Parameters<typeof server.driver.connect>[1]) => {
        asked.push(options)
        return server.driver.connect(options, listener)
      }
    }
    const engine = natsEngine(driver, natsOptions({}), service as ServerContext | undefined)
    const listener = { lost() {}, restored() {}, refused() {}, unpublished() {}, failed() {}, ended() {} }
    return { engine, asked, open: () => engine.open(listener) }
  }

  it('names its connection after its service, if it has one', async () => {
    for (const [service, name] of [
      [{ name: 'orders' }, 'orders'],
      [undefined, undefined]
    ] as const) {
      const { asked, open } = engineOf(service)
      await (await open()).close()
      assert.deepEqual(
        asked.map((options) => (options as { name?: string }).name),
        [name]
      )
    }
  })

  it('answers the tools of NATS for a service, and not for a client', async () => {
    for (const service of [{ name: 'orders' }, undefined]) {
      const { engine, open } = engineOf(service)
      const connection = await open()
      engine.listening?.(connection, [])
      await connection.flush()
      assert.equal(server.streams.clients.hears('$SRV.PING'), service !== undefined)
      await connection.close()
    }
  })

  it('tells an error of other micro services, and a stream that has taken a request for an event', () => {
    const { engine } = engineOf()
    const errorOf = (headers: MessageHeaders | undefined) =>
      engine.foreignError?.({ headers, words: new Uint8Array() } as unknown as Carried)
    assert.equal(errorOf(undefined), undefined)
    assert.match(
      String(errorOf({ 'Nats-Service-Error-Code': '404', 'Nats-Service-Error': 'not here' })),
      /not here/
    )
    assert.equal(engine.engineAnswer?.({ total: 5 }, 'p'), undefined)
    assert.match(engine.engineAnswer?.({ stream: 's', seq: 1 }, 'p')?.message ?? '', /^Nobody answers 'p'/)
  })
})
