import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type Dispatcher,
  type Middleware,
  memory,
  type ReceivedMessage,
  type ServerContext
} from '@elysia-microservices/transport/kit'
import { node } from '@elysiajs/node'
import { Elysia } from 'elysia'
import { openDoor } from '../app/doors.ts'
import { ConnectionError, connect } from '../client/index.ts'
import { microservice } from './microservice.ts'
import type { MicroserviceOptions } from './options.ts'
import type { Microservice } from './service.ts'

const underBun = typeof Bun !== 'undefined'

/** An Elysia app for the runtime of this test run. */
function newApp() {
  return underBun ? new Elysia() : new Elysia({ adapter: node() })
}

interface App {
  listen(port: number, callback: (server: { stop(): unknown }) => void): unknown
  stop(): Promise<unknown>
}

/** Makes an app listen, and returns the function that stops the app. Elysia's adapter for Node has no `app.stop()`. */
function listen(app: App, ...services: Pick<Microservice, 'stop'>[]): () => Promise<unknown> {
  let server: { stop(): unknown } | undefined
  app.listen(0, (listening) => {
    server = listening
  })
  if (underBun) return () => app.stop()
  return async () => {
    await Promise.all(services.map((service) => service.stop()))
    await server?.stop()
  }
}

function newService(options: Partial<MicroserviceOptions> = {}) {
  return microservice({ transport: 'tcp', host: '127.0.0.1', port: 0, ...options }).message(
    'echo',
    ({ data }: { data: unknown }) => data
  )
}

/** Waits until a service listens, because `app.listen` starts the service without waiting for it. */
async function clientOf(service: Pick<Microservice, 'listen' | 'address'>) {
  await service.listen()
  return connect({ host: '127.0.0.1', port: service.address!.port })
}

describe('a service in an Elysia app', () => {
  it('starts when the app listens and stops when the app stops, beside HTTP', async () => {
    const service = newService()
    const app = newApp()
      .use(service)
      .get('/', () => 'http')
    assert.equal(service.address, undefined)
    const stop = listen(app, service)
    const client = await clientOf(service)
    assert.equal(await client.request('echo', 1), 1)
    assert.equal(await (await app.handle(new Request('http://localhost/'))).text(), 'http')
    const { port } = service.address!
    await client.close()
    await stop()
    assert.equal(service.address, undefined)
    await assert.rejects(connect({ host: '127.0.0.1', port }).connect(), ConnectionError)
  })

  it('lets messages in flight end before it is stopped', async () => {
    let begun: () => void = () => {}
    let answer: (value: string) => void = () => {}
    const started = new Promise<void>((resolve) => {
      begun = resolve
    })
    const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 }).message('slow', () => {
      begun()
      return new Promise<string>((resolve) => {
        answer = resolve
      })
    })
    const app = newApp().use(service)
    const stop = listen(app, service)
    const client = await clientOf(service)
    const pending = client.request('slow')
    await started
    const stopped = stop()
    answer('in time')
    assert.equal(await pending, 'in time')
    await stopped
    await client.close()
  })

  it('follows the app that its own app is used in', async () => {
    const service = newService()
    const inner = newApp().use(service)
    const outer = newApp().use(inner)
    const stop = listen(outer, service)
    const client = await clientOf(service)
    assert.equal(await client.request('echo', 2), 2)
    await client.close()
    await stop()
    assert.equal(service.address, undefined)
  })

  it('may be one of several, each on its port', async () => {
    const [a, b] = [newService(), newService()]
    const app = newApp().use(a).use(b)
    const stop = listen(app, a, b)
    const clients = [await clientOf(a), await clientOf(b)]
    assert.notEqual(a.address!.port, b.address!.port)
    assert.deepEqual(await Promise.all(clients.map((client, index) => client.request('echo', index))), [0, 1])
    for (const client of clients) await client.close()
    await stop()
  })

  it('warns of what its handlers do not see of a second app, if there is anything', async () => {
    const shared = { id: 1 }
    const warned = async (more: { readonly decorator?: object; readonly store?: object }) => {
      const lines: string[] = []
      const logger = { error() {}, warn: (line: string) => void lines.push(line) }
      const service = newService({ name: 'orders', logger })
      const first = newApp().decorate('db', shared).state('cart', shared).use(service)
      const second = newApp()
        .decorate({ db: shared, ...more.decorator })
        .state({ cart: shared, ...more.store })
        .use(service)
      const started = [first, second].map(
        (app) => new Promise<void>((resolve) => app.onStart(() => resolve()))
      )
      const stops = [listen(first, service), listen(second, service)]
      await Promise.all(started)
      await service.listen()
      for (const stop of stops) await stop()
      return lines
    }
    assert.deepEqual(await warned({}), [])
    const [line] = await warned({ decorator: { db: { id: 2 }, mail: 1 }, store: { visits: 0 } })
    assert.match(
      line!,
      /^The service 'orders' is used by several apps .* without 'visits', 'db', 'mail' of another/
    )
  })

  it('starts at once in an app that listens already', async () => {
    const app = newApp()
    const service = newService()
    const stop = listen(app, service)
    app.use(service)
    const client = await clientOf(service)
    assert.equal(await client.request('echo', 3), 3)
    await client.close()
    await stop()
  })

  it('answers at doors of its app that open later, behind the same middleware', async () => {
    let combined = 0
    let seen = 0
    const counting: Middleware<ReceivedMessage> = (next) => {
      combined++
      return (message) => {
        seen++
        return next(message)
      }
    }
    const app = newApp()
    const service = microservice({ transport: memory() })
      .wrap(counting)
      .message('echo', ({ data }: { data: unknown }) => data)
    const stop = listen(app.use(service), service)
    await service.listen()
    const before = combined
    const door = memory()
    await new Promise<void>((opened) => {
      const newServer = (context: ServerContext) => {
        const server = door.server(context)
        const start = async (dispatcher: Dispatcher) => opened(await server.start(dispatcher))
        return { name: 'door', start, stop: () => server.stop(), stats: () => server.stats() }
      }
      openDoor(app, { newServer })
    })
    const client = connect({ transport: door })
    assert.equal(await client.request('echo', 4), 4)
    assert.deepEqual([seen, combined - before], [1, 0])
    await client.close()
    await stop()
  })
})

describe('a service by itself', () => {
  it('listens, stops and listens again', async () => {
    const service = newService()
    for (let round = 0; round < 2; round++) {
      const client = await clientOf(await service.listen())
      assert.equal(await client.request('echo', round), round)
      await client.close()
      await service.stop()
      assert.equal(service.address, undefined)
    }
    await service.stop()
  })

  it('says that its port is taken, and can listen there once it is free', async () => {
    const first = await newService().listen()
    const { port } = first.address!
    const second = newService({ port })
    await assert.rejects(second.listen(), {
      name: 'ListenError',
      code: 'EADDRINUSE',
      message: /choose another port or path/
    })
    await first.stop()
    await second.listen()
    assert.equal(second.address?.port, port)
    await second.stop()
  })

  it('stops at the end of a block', async () => {
    const service = newService()
    {
      await using running = await service.listen()
      assert.equal(running.status, 'listening')
    }
    assert.equal(service.status, 'stopped')
  })

  for (const [options, path] of [
    [{ transport: 'udp' }, 'options.transport'],
    [{ port: 70_000 }, 'options.port'],
    [{ host: '' }, 'options.host'],
    [{ limits: { receiveBuffer: -1 } }, 'options.limits.receiveBuffer'],
    [{ controllers: [class Empty {}] }, 'options.controllers']
  ] as const) {
    it(`refuses ${JSON.stringify(options)}`, () => {
      assert.throws(() => newService(options as never), { name: 'OptionError', path })
    })
  }
})

describe('connect', () => {
  for (const [options, path] of [
    [{ transport: 'udp' }, 'options.transport'],
    [{ protocol: 'http' }, 'options.protocol'],
    [{ codec: 'xml' }, 'options.codec'],
    [{ port: 1.5 }, 'options.port'],
    [{ timeout: -1 }, 'options.timeout'],
    [{ timeout: 0 }, 'options.timeout']
  ] as const) {
    it(`refuses ${JSON.stringify(options)}`, () => {
      assert.throws(() => connect(options as never), { name: 'OptionError', path })
    })
  }
})
