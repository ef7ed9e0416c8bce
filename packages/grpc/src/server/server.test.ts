/** A server over sockets: health, reflection, limits, certificates. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { collected, Log, until, within } from '@elysia-microservices/test-support'
import {
  type ClientTransport,
  type IncomingMessage,
  type ServerTransport,
  StreamValues
} from '@elysia-microservices/transport/kit'
import { type GrpcTransport, grpc } from '../grpc.ts'
import type { GrpcMethods } from '../methods.ts'
import type { GrpcClientOptions, GrpcServerOptions } from '../options/options.ts'
import { HEALTH_METHODS, HEALTH_NAME, Serving } from '../own/health.ts'
import { REFLECTION_NAMES } from '../own/reflection.ts'
import { dispatcherOf, METHODS } from '../testing/service.ts'

type Handlers = Parameters<typeof dispatcherOf>[0]

const soon = <Value>(promise: Promise<Value>) => within(promise, 'an answer')
const textOf = ({ data }: IncomingMessage) => data as string
const read = (file: string) =>
  readFileSync(new URL(`../../../../tests/fixtures/tls/${file}`, import.meta.url), 'utf8')

/** The methods of health, beside those of the tests. */
const ALL: GrpcMethods = {
  method: (path) => METHODS.method(path) ?? HEALTH_METHODS.find((method) => method.path === path)
}

class Running implements AsyncDisposable {
  readonly log = new Log()
  readonly transport: GrpcTransport
  readonly server: ServerTransport
  readonly #clients: ClientTransport[] = []

  constructor(options: Partial<GrpcServerOptions> = {}) {
    this.transport = grpc({ proto: METHODS, host: '127.0.0.1', port: 0, ...options })
    this.server = this.transport.server({ name: 'test', version: undefined, logger: this.log.logger })
  }

  async start(handlers: Handlers): Promise<this> {
    await this.server.start(dispatcherOf(handlers))
    return this
  }

  client(options: Partial<GrpcClientOptions> = {}): ClientTransport {
    const { port } = this.transport.address!
    const client = grpc({ proto: ALL, host: '127.0.0.1', port, retry: false, ...options }).client({
      logger: this.log.logger,
      timeout: 10_000,
      dispatcher: undefined
    })
    this.#clients.push(client)
    return client
  }

  async [Symbol.asyncDispose]() {
    for (const client of this.#clients) await client.close()
    await this.server.stop({ drain: 0 })
  }
}

const CHECK = `${HEALTH_NAME}/Check`
const WATCH = `${HEALTH_NAME}/Watch`

describe('the health of a service', () => {
  it('is answered by default, and while it drains it is bad', async () => {
    let finish = () => {}
    await using running = await new Running().start({
      Unary: () => new Promise((resolve) => (finish = () => resolve('done')))
    })
    const client = running.client()
    assert.equal(await soon(client.request(CHECK, '')), Serving.SERVING)
    const statuses: unknown[] = []
    const watched = (async () => {
      for await (const status of new StreamValues((receiver) => client.stream(WATCH, '', receiver)))
        statuses.push(status)
    })()
    const call = client.request('test.Kinds/Unary', 'x')
    await until('both are there', () => running.transport.stats().inFlight.current === 2)
    await until('the first status', () => statuses.length === 1)
    const stopped = running.server.stop()
    await assert.rejects(soon(watched), { code: 'UNAVAILABLE' })
    assert.deepEqual(statuses, [Serving.SERVING, Serving.NOT_SERVING])
    finish()
    assert.equal(await soon(call), 'done')
    await soon(stopped)
  })

  it('is none of the calls that a limit counts, so that a busy service stays alive', async () => {
    await using running = await new Running({ limits: { inFlight: 1 } }).start({
      Unary: () => new Promise(() => {})
    })
    const client = running.client()
    void client.request('test.Kinds/Unary', 'x').catch(() => {})
    await until('the service is busy', () => running.transport.stats().inFlight.current === 1)
    await assert.rejects(soon(client.request('test.Kinds/Unary', 'x')), { name: 'RejectedError' })
    assert.equal(await soon(client.request(CHECK, 'liveness')), Serving.SERVING)
  })

  it('can be switched off, and can be one of the handlers', async () => {
    await using off = await new Running({ health: false }).start({})
    await assert.rejects(soon(off.client().request(CHECK, '')), { code: 'UNIMPLEMENTED' })
    await using own = new Running({ proto: ALL })
    const handled = {
      routes: () => [{ kind: 'message' as const, route: CHECK }],
      request: () => Serving.UNKNOWN,
      event: () => {}
    }
    await own.server.start(handled)
    assert.equal(await soon(own.client().request(CHECK, '')), Serving.UNKNOWN)
  })

  it('lives again when the service starts again', async () => {
    await using running = await new Running().start({})
    await soon(running.client().request(CHECK, ''))
    await running.server.stop({ drain: 0 })
    await running.start({})
    assert.equal(await soon(running.client().request(CHECK, '')), Serving.SERVING)
  })

  it('cannot be watched by more callers than a connection may have calls', async () => {
    await using running = await new Running({ limits: { streams: 10 } }).start({})
    const client = running.client()
    await soon(client.connect())
    const watches = Array.from({ length: 30 }, () =>
      collected(new StreamValues((receiver) => client.stream(WATCH, '', receiver)))
    )
    const ended = Promise.allSettled(watches)
    await until('ten watch', () => running.transport.stats().inFlight.current === 10)
    await running.server.stop({ drain: 1_000 })
    await soon(ended)
    assert.equal(running.transport.stats().inFlight.current, 0)
  })
})

describe('reflection of a service', () => {
  const methodsOf = (name: string): GrpcMethods => ({
    method: (path) => {
      const bytes = { encode: (value: unknown) => value as Uint8Array, decode: (value: Uint8Array) => value }
      return {
        path,
        pattern: path,
        kind: 'message',
        clientStreams: true,
        serverStreams: true,
        input: bytes,
        output: bytes
      }
    },
    services: [{ name }],
    descriptors: () => new Uint8Array()
  })
  /** The names of services in the answer to `list_services`. */
  const list = async (client: ClientTransport, name: string) => {
    const question = async function* () {
      yield Uint8Array.of(0x3a, 1, 0x2a)
    }
    const values = new StreamValues((receiver) =>
      client.stream(`${name}/ServerReflectionInfo`, question(), receiver)
    )
    const [answer] = await soon(collected(values))
    return Buffer.from(answer as Uint8Array).toString()
  }

  for (const name of REFLECTION_NAMES)
    it(`is answered as ${name} if it is wanted`, async () => {
      const proto = methodsOf('shop.v1.Orders')
      await using running = await new Running({ proto, reflection: true }).start({})
      const services = await list(running.client({ proto }), name)
      for (const one of ['shop.v1.Orders', HEALTH_NAME, ...REFLECTION_NAMES])
        assert.ok(services.includes(one))
    })

  it('is not answered by default, because it tells everything', async () => {
    const proto = methodsOf('shop.v1.Orders')
    await using running = await new Running({ proto: { ...proto, method: () => undefined } }).start({})
    await assert.rejects(list(running.client({ proto }), REFLECTION_NAMES[0]), { code: 'UNIMPLEMENTED' })
  })

  it('needs files', () => {
    assert.throws(() => new Running({ reflection: true }), {
      name: 'OptionError',
      path: 'options.reflection'
    })
  })
})

describe('the limits of a service', () => {
  it('refuse calls beyond limits.inFlight before they begin, so that they may be made elsewhere', async () => {
    let begun = 0
    let finish = () => {}
    await using busy = await new Running({ limits: { inFlight: 2 } }).start({
      Unary: () => {
        begun++
        return new Promise((resolve) => (finish = () => resolve('busy')))
      },
      async *Down() {
        begun++
        yield 'one'
        await new Promise<void>((resolve) => (finish = resolve))
      }
    })
    await using idle = await new Running().start({ Unary: () => 'idle' })
    const client = busy.client()
    const stream = new StreamValues((receiver) => client.stream('test.Kinds/Down', 'x', receiver))
    const iterator = stream[Symbol.asyncIterator]()
    await soon(iterator.next())
    const call = client.request('test.Kinds/Unary', 'x')
    await until('two are in flight', () => busy.transport.stats().inFlight.current === 2)
    await assert.rejects(soon(client.request('test.Kinds/Unary', 'x')), {
      name: 'RejectedError',
      mayHaveRun: false,
      message: /limits.inFlight allows \(2\)/
    })
    const url = [busy, idle].map(({ transport }) => `127.0.0.1:${transport.address!.port}`)
    const both = busy.client({ host: undefined, port: undefined, url, retry: {} })
    for (let at = 0; at < 10; at++)
      assert.equal(await soon(both.request('test.Kinds/Unary', 'x', { idempotent: false })), 'idle')
    assert.equal(begun, 2)
    const { inFlight, refused } = busy.transport.stats()
    assert.deepEqual(inFlight, { current: 2, limit: 2 })
    assert.ok(refused.requests >= 1)
    finish()
    assert.equal(await soon(call), 'busy')
    await soon(iterator.return!())
  })

  it('count refusals of connections', async () => {
    await using running = await new Running({ limits: { connections: 1 } }).start({ Unary: textOf })
    await soon(running.client().request('test.Kinds/Unary', 'x'))
    await assert.rejects(soon(running.client().request('test.Kinds/Unary', 'x')), { name: 'RejectedError' })
    const { connections, refused } = running.transport.stats()
    assert.deepEqual([connections, refused.connections], [{ current: 1, limit: 1 }, 1])
  })

  it('move clients whose connections are old, without a failed call', async () => {
    await using running = await new Running({ limits: { age: 200 } }).start({
      async Unary(one) {
        await new Promise((resolve) => setTimeout(resolve, 1))
        return `${one.peer?.port}`
      }
    })
    const client = running.client()
    const ports = new Set<unknown>()
    while (ports.size < 3)
      ports.add(await soon(client.request('test.Kinds/Unary', 'x', { idempotent: false })))
  })

  it('end idle connections, and their clients connect again', async () => {
    await using running = await new Running({ limits: { idle: 40 } }).start({ Unary: textOf })
    const client = running.client()
    assert.equal(await soon(client.request('test.Kinds/Unary', 'x')), 'x')
    await until('it is closed', () => running.transport.stats().closedIdle === 1)
    assert.equal(await soon(client.request('test.Kinds/Unary', 'y')), 'y')
  })
})

describe('a service with TLS', () => {
  const tls = (name: string) => ({ cert: read(`${name}.pem`), key: read(`${name}.key`) })

  it('changes its certificate for new connections', async () => {
    await using running = await new Running({ tls: tls('service') }).start({ Unary: textOf })
    const ca = read('authority.pem')
    const client = running.client({ host: 'localhost', tls: { ca } })
    assert.equal(await soon(client.request('test.Kinds/Unary', 'x')), 'x')
    const serial = () => {
      const { port } = running.transport.address!
      return new Promise<string>((resolve, reject) => {
        const socket = connectTls({ host: 'localhost', port, ca, ALPNProtocols: ['h2'] }, () => {
          resolve(`${socket.alpnProtocol} ${socket.getPeerCertificate().serialNumber}`)
          socket.destroy()
        })
        socket.on('error', reject)
      })
    }
    const before = await soon(serial())
    await soon(running.transport.reloadTls(tls('renewed')))
    const after = await soon(serial())
    assert.notEqual(after, before)
    assert.match(after, /^h2 /)
    assert.equal(await soon(client.request('test.Kinds/Unary', 'y')), 'y')
    await assert.rejects(running.transport.reloadTls({ cert: 'wrong', key: 'wrong' }), {
      name: 'OptionError'
    })
    assert.equal(await soon(serial()), after)
  })

  it('knows its clients by their certificates, and refuses those without', async () => {
    const ca = read('authority.pem')
    await using running = await new Running({ tls: { ...tls('service'), ca, requestCert: true } }).start({
      Unary: (one) => String(one.peer?.certificate?.subject['CN'])
    })
    const known = running.client({ host: 'localhost', tls: { ca, ...tls('caller') } })
    assert.match((await soon(known.request('test.Kinds/Unary', 'x'))) as string, /\w/)
    const unknown = running.client({ host: 'localhost', tls: { ca } })
    await assert.rejects(soon(unknown.request('test.Kinds/Unary', 'x')), { name: 'ConnectionError' })
  })

  it('needs it from the beginning', async () => {
    await using running = await new Running().start({})
    await assert.rejects(running.transport.reloadTls(tls('service')), { name: 'OptionError' })
    assert.throws(() => grpc({ proto: METHODS }).reloadTls(), { name: 'OptionError' })
  })
})
