/** Services and clients over sockets. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { collected, freePort, Log, within } from '@elysia-microservices/test-support'
import { type ClientTransport, type IncomingMessage, StreamValues } from '@elysia-microservices/transport/kit'
import { type GrpcTransport, grpc } from './grpc.ts'
import { dispatcherOf, METHODS } from './testing/service.ts'
import { exchange } from './testing/sockets.ts'

const soon = <Value>(promise: Promise<Value>) => within(promise, 'an answer')
/** A file of the certificates that all tests share. */
const read = (file: string) =>
  readFileSync(new URL(`../../../tests/fixtures/tls/${file}`, import.meta.url), 'utf8')
const textOf = ({ data }: IncomingMessage) => data as string

/** A service whose handlers the test gives, and a client of it. */
async function connected(
  handlers: Parameters<typeof dispatcherOf>[0],
  limits: object = {}
): Promise<
  {
    transport: GrpcTransport
    client: ClientTransport
    log: Log
    stop(drain?: number): Promise<void>
  } & AsyncDisposable
> {
  const log = new Log()
  const transport = grpc({ proto: METHODS, port: 0, host: '127.0.0.1', limits })
  const server = transport.server({ name: 'test', version: undefined, logger: log.logger })
  await server.start(dispatcherOf(handlers))
  const { port } = transport.address!
  const client = grpc({ proto: METHODS, host: '127.0.0.1', port }).client({
    logger: log.logger,
    timeout: 10_000,
    dispatcher: undefined
  })
  const stop = (drain?: number) => server.stop(drain === undefined ? {} : { drain })
  return {
    transport,
    client,
    log,
    stop,
    async [Symbol.asyncDispose]() {
      await client.close()
      await stop(0)
    }
  }
}

describe('a service and a client over gRPC', () => {
  it('answer requests, streams and events', async () => {
    const events: unknown[] = []
    await using pair = await connected({
      Unary: (one) => `<${textOf(one)}>`,
      async *Down(one) {
        for (let at = 0; at < 1_000; at++) yield `${textOf(one)}${at}`
      },
      Event: (one) => void events.push(one.data)
    })
    const { client } = pair
    assert.equal(await soon(client.request('test.Kinds/Unary', 'a')), '<a>')
    const answers = await soon(
      Promise.all(Array.from({ length: 500 }, (_, at) => client.request('test.Kinds/Unary', String(at))))
    )
    assert.deepEqual(
      answers,
      Array.from({ length: 500 }, (_, at) => `<${at}>`)
    )
    const values = new StreamValues((receiver) => client.stream('test.Kinds/Down', 'v', receiver))
    assert.equal((await soon(collected(values))).length, 1_000)
    await soon(client.emit('test.Kinds/Event', 'happened'))
    assert.deepEqual(events, ['happened'])
    const { connections, inFlight } = pair.transport.stats()
    assert.deepEqual([connections.current, inFlight.current], [1, 0])
  })

  it('lose no call when the service stops and starts again', async () => {
    const log = new Log()
    const port = await freePort()
    const start = async () => {
      const server = grpc({ proto: METHODS, host: '127.0.0.1', port }).server({
        name: 'test',
        version: undefined,
        logger: log.logger
      })
      await server.start(
        dispatcherOf({
          async Unary(one) {
            await new Promise((resolve) => setTimeout(resolve, 1))
            return textOf(one)
          }
        })
      )
      return server
    }
    let server = await start()
    const client = grpc({ proto: METHODS, host: '127.0.0.1', port }).client({
      logger: log.logger,
      timeout: 30_000,
      dispatcher: undefined
    })
    let isOver = false
    let answered = 0
    const callers = Array.from({ length: 10 }, async () => {
      while (!isOver) {
        assert.equal(await client.request('test.Kinds/Unary', 'x'), 'x')
        answered++
      }
    })
    for (let time = 0; time < 3; time++) {
      const before = answered
      while (answered < before + 100) await new Promise((resolve) => setTimeout(resolve, 1))
      await soon(server.stop())
      server = await start()
    }
    isOver = true
    await soon(Promise.all(callers))
    await client.close()
    await server.stop({ drain: 0 })
    assert.ok(answered > 300)
  })

  it('wait for calls in flight when the service stops, and tell those that last too long', async () => {
    let finish = () => {}
    await using pair = await connected({
      Unary: (one) =>
        textOf(one) === 'for ever'
          ? new Promise(() => {})
          : new Promise((resolve) => (finish = () => resolve('done')))
    })
    const { client } = pair
    const soonDone = client.request('test.Kinds/Unary', 'x', { idempotent: false })
    const never = client.request('test.Kinds/Unary', 'for ever')
    while (pair.transport.stats().inFlight.current < 2) await new Promise((resolve) => setTimeout(resolve, 1))
    const stopped = pair.stop(200)
    finish()
    assert.equal(await soon(soonDone), 'done')
    await assert.rejects(soon(never), { code: 'UNAVAILABLE', message: 'The server is stopping' })
    await soon(stopped)
  })

  it('refuse more connections than their limit, and peers that do not speak HTTP/2', async () => {
    await using pair = await connected({ Unary: textOf }, { connections: 1 })
    await soon(pair.client.request('test.Kinds/Unary', 'x'))
    const { port } = pair.transport.address!
    const other = grpc({ proto: METHODS, host: '127.0.0.1', port, retry: false }).client({
      logger: pair.log.logger,
      timeout: 10_000,
      dispatcher: undefined
    })
    await assert.rejects(soon(other.request('test.Kinds/Unary', 'x')), {
      name: 'RejectedError',
      mayHaveRun: false,
      message:
        'The server has not begun the call: The server has as many connections as limits.connections allows (1)'
    })
    await other.close()
    assert.ok(pair.transport.stats().refused.connections >= 1)
    await pair.client.close()
    while (pair.transport.stats().connections.current > 0)
      await new Promise((resolve) => setTimeout(resolve, 1))
    assert.equal(String(await soon(exchange(port, Buffer.from('GET / HTTP/1.1\r\n\r\n')))), '')
    await pair.log.has('no client of HTTP/2 begins with it')
  })

  it('speak TLS, and say by ALPN that they speak HTTP/2, without which public clients leave', async () => {
    const log = new Log()
    const transport = grpc({
      proto: METHODS,
      port: 0,
      tls: { cert: read('service.pem'), key: read('service.key') }
    })
    const server = transport.server({ name: 'test', version: undefined, logger: log.logger })
    await server.start(dispatcherOf({ Unary: textOf }))
    const { port } = transport.address!
    const ca = read('authority.pem')
    const client = grpc({ proto: METHODS, port, tls: { ca } }).client({
      logger: log.logger,
      timeout: 10_000,
      dispatcher: undefined
    })
    assert.equal(await soon(client.request('test.Kinds/Unary', 'x')), 'x')
    await client.close()
    const socket = connectTls({ host: 'localhost', port, ca, ALPNProtocols: ['http/1.1', 'h2'] })
    await soon(new Promise((resolve) => socket.once('secureConnect', resolve)))
    assert.equal(socket.alpnProtocol, 'h2')
    socket.destroy()
    await server.stop({ drain: 0 })
  })

  it('refuse options that they do not have', () => {
    assert.throws(() => grpc({ proto: METHODS, prot: 1 } as never), { name: 'OptionError' })
    const context = { name: undefined, version: undefined, logger: new Log().logger }
    assert.throws(() => grpc({ proto: METHODS, limits: { inFlights: 1 } as never }).server(context), {
      name: 'OptionError'
    })
    assert.throws(() => grpc({ proto: 'shop.proto' as never }).server(context), { name: 'OptionError' })
    assert.throws(() => grpc({ proto: METHODS }).stats(), { name: 'OptionError' })
  })
})
