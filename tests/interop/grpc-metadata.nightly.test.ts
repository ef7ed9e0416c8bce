/** Metadata, deadlines of streams and details of errors, with grpc-js as the other end. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { grpc } from '@elysia-microservices/grpc'
import { dispatcherOf, METHODS } from '@elysia-microservices/grpc/testing'
import { Log, until, within } from '@elysia-microservices/test-support'
import {
  type ClientTransport,
  type IncomingMessage,
  RpcError,
  StreamValues
} from '@elysia-microservices/transport/kit'
import { fromOthers } from '../support/others.ts'

/** The part of grpc-js that these tests use. */
interface GrpcJs {
  readonly Server: new () => GrpcJsServer
  readonly Client: new (address: string, credentials: unknown) => GrpcJsClient
  readonly Metadata: new () => Metadata
  readonly credentials: { createInsecure(): unknown }
  readonly ServerCredentials: { createInsecure(): unknown }
}
interface Metadata {
  add(name: string, value: string | Buffer): void
  get(name: string): (string | Buffer)[]
}
interface Call {
  on(event: string, listener: (value: never) => void): void
  sendMetadata(metadata: Metadata): void
  getDeadline(): Date | number
  readonly metadata: Metadata
  readonly request: string
}
interface Stream extends Call {
  write(value: string): void
  emit(event: 'error', error: object): void
  end(trailers?: Metadata): void
}
type Answer = (error: object | null, value: string | null, trailers?: Metadata) => void
interface GrpcJsClient {
  makeUnaryRequest(...parameters: unknown[]): Call
  makeServerStreamRequest(...parameters: unknown[]): Stream
  close(): void
}
interface GrpcJsServer {
  addService(definition: object, handlers: object): void
  bindAsync(address: string, credentials: unknown, bound: (error: Error | null, port: number) => void): void
  forceShutdown(): void
}

const BYTES = Uint8Array.of(0, 255, 10)
const write = (text: string) => Buffer.from(text)
const read = (bytes: Uint8Array) => Buffer.from(bytes).toString()
const path = (name: string) => `/test.Kinds/${name}`
const soon = <Value>(promise: Promise<Value>) => within(promise, 'an answer')
const bytesOf = (metadata: Metadata, name: string) =>
  metadata.get(name).map((value) => [...(value as Buffer)])

describe('metadata between grpc-js and this library', () => {
  let js: GrpcJs
  const log = new Log()
  before(async () => {
    js = (await fromOthers<{ readonly grpc: GrpcJs }>('grpc-js')).grpc
  })
  const metadataOf = (...pairs: readonly (readonly [string, string | Uint8Array])[]) => {
    const metadata = new js.Metadata()
    for (const [name, value] of pairs)
      metadata.add(name, typeof value === 'string' ? value : Buffer.from(value))
    return metadata
  }

  describe('whose client is grpc-js', () => {
    const transport = grpc({ proto: METHODS, port: 0, host: '127.0.0.1' })
    let client: GrpcJsClient
    let stop = async () => {}
    let got: IncomingMessage | undefined

    before(async () => {
      const server = transport.server({ name: 'test', version: undefined, logger: log.logger })
      await server.start(
        dispatcherOf({
          Unary(message) {
            got = message
            const { set, data } = message
            set.headers['x-cache'] = 'hit'
            set.headers['trace-bin'] = BYTES
            set.trailers['x-cost'] = '7'
            set.trailers['cost-bin'] = BYTES
            if (data === 'fail')
              throw new RpcError({ code: 'SOLD_OUT', message: 'none: ü', details: { left: 0 } })
            return 'one'
          },
          async *Down({ set }) {
            set.headers['x-cache'] = 'hit'
            yield 'a'
            set.trailers['x-cost'] = '8'
          }
        })
      )
      stop = () => server.stop({ drain: 0 })
      client = new js.Client(`127.0.0.1:${transport.address!.port}`, js.credentials.createInsecure())
    })
    after(async () => {
      client.close()
      await stop()
    })

    /** The head, the trailers and the answer of a call. */
    function unary(data: string, metadata = new js.Metadata()) {
      return soon(
        new Promise<{ head: Metadata; trailers: Metadata; value: unknown; error: unknown }>((resolve) => {
          let head: Metadata
          let outcome: { value: unknown; error: unknown }
          const call = client.makeUnaryRequest(
            path('Unary'),
            write,
            read,
            data,
            metadata,
            {},
            (error: unknown, value: unknown) => {
              outcome = { error, value }
            }
          )
          call.on('metadata', (given: Metadata) => {
            head = given
          })
          call.on('status', ({ metadata: trailers }: { metadata: Metadata }) =>
            setImmediate(() => resolve({ head, trailers, ...outcome }))
          )
        })
      )
    }

    it('has bytes and texts, in both directions', async () => {
      const given = metadataOf(
        ['x-user', 'me'],
        ['x-user', 'you'],
        ['id-bin', BYTES],
        ['many-bin', BYTES],
        ['many-bin', Uint8Array.of(1)]
      )
      const { head, trailers, value } = await unary('x', given)
      assert.equal(value, 'one')
      assert.deepEqual([head.get('x-cache'), bytesOf(head, 'trace-bin')], [['hit'], [[...BYTES]]])
      assert.deepEqual([trailers.get('x-cost'), bytesOf(trailers, 'cost-bin')], [['7'], [[...BYTES]]])
      const { 'user-agent': agent, ...metadata } = got!.metadata as Record<string, unknown>
      assert.match(String(agent), /grpc-node-js/)
      assert.deepEqual(metadata, {
        'x-user': 'me,you',
        'id-bin': BYTES,
        'many-bin': [BYTES, Uint8Array.of(1)]
      })
      assert.equal(got!.headers['id-bin'], Buffer.from(BYTES).toString('base64'))
    })

    it('is there beside an error with details, too', async () => {
      const { head, trailers, error } = await unary('fail')
      const { code, details } = error as { code: number; details: string }
      assert.deepEqual([code, details], [2, 'none: ü'])
      assert.deepEqual([head.get('x-cache'), trailers.get('x-cost')], [['hit'], ['7']])
      const [status] = trailers.get('grpc-status-details-bin')
      assert.match(
        String(status),
        /google\.rpc\.ErrorInfo.*SOLD_OUT.*elysia-microservices.*google\.protobuf\.Value/s
      )
    })

    it('is there with a stream', async () => {
      const call = client.makeServerStreamRequest(path('Down'), write, read, 'x', new js.Metadata(), {})
      const heard: unknown[] = []
      await soon(
        new Promise<void>((resolve) => {
          call.on('metadata', (head: Metadata) => heard.push(head.get('x-cache')))
          call.on('data', (value: string) => heard.push(value))
          call.on('status', ({ metadata }: { metadata: Metadata }) => {
            heard.push(metadata.get('x-cost'))
            resolve()
          })
        })
      )
      assert.deepEqual(heard, [['hit'], 'a', ['8']])
    })
  })

  describe('whose server is grpc-js', () => {
    let server: GrpcJsServer
    let client: ClientTransport
    let got: Metadata | undefined
    let deadline = 0

    before(async () => {
      server = new js.Server()
      const method = (name: string, responseStream: boolean) => ({
        path: path(name),
        requestStream: false,
        responseStream,
        requestSerialize: write,
        requestDeserialize: read,
        responseSerialize: write,
        responseDeserialize: read
      })
      const trailers = () => metadataOf(['x-cost', '7'], ['cost-bin', BYTES])
      server.addService(
        { Unary: method('Unary', false), Down: method('Down', true) },
        {
          Unary(call: Call, answer: Answer) {
            got = call.metadata
            call.sendMetadata(metadataOf(['x-cache', 'hit'], ['trace-bin', BYTES]))
            if (call.request === 'fail')
              return answer({ code: 5, details: 'none: ü', metadata: trailers() }, null)
            answer(null, 'one', trailers())
          },
          Down(call: Stream) {
            deadline = Number(call.getDeadline())
            call.sendMetadata(metadataOf(['x-cache', 'hit']))
            call.write('a')
            if (call.request === 'all') call.end(trailers())
          }
        }
      )
      const port = await new Promise<number>((resolve, reject) =>
        server.bindAsync('127.0.0.1:0', js.ServerCredentials.createInsecure(), (error, bound) =>
          error === null ? resolve(bound) : reject(error)
        )
      )
      client = grpc({ proto: METHODS, host: '127.0.0.1', port }).client({
        logger: log.logger,
        timeout: 10_000,
        dispatcher: undefined
      })
    })
    after(async () => {
      await client.close()
      server.forceShutdown()
    })

    const heard: unknown[] = []
    const taken = () => heard.splice(0)
    const options = {
      onHeaders: (headers: object) => heard.push({ ...headers }),
      onTrailers: (trailers: object) => heard.push({ ...trailers })
    }
    const HEAD = { 'x-cache': 'hit', 'trace-bin': BYTES }
    const END = { 'x-cost': '7', 'cost-bin': BYTES }

    it('has bytes and texts, in both directions', async () => {
      const headers = { 'X-User': 'me', 'id-bin': BYTES, 'text-bin': 'AP8=' }
      heard.push(await soon(client.request('test.Kinds/Unary', 'x', { ...options, headers })))
      assert.deepEqual(taken(), [HEAD, END, 'one'])
      assert.deepEqual(
        [
          got!.get('x-user'),
          bytesOf(got!, 'id-bin'),
          bytesOf(got!, 'text-bin'),
          got!.get('elysia-answer-headers')
        ],
        [['me'], [[...BYTES]], [[0, 255]], []]
      )
      await assert.rejects(soon(client.request('test.Kinds/Unary', 'fail', options)), {
        code: 'NOT_FOUND',
        message: 'none: ü'
      })
      assert.deepEqual(taken(), [HEAD, END])
    })

    it('is there with a stream, whose lifetime is the deadline of its call', async () => {
      const stream = (data: string, lifetime: number) =>
        new StreamValues((receiver) =>
          client.stream('test.Kinds/Down', data, receiver, { ...options, lifetime })
        )
      for await (const value of stream('all', 60_000)) heard.push(value)
      assert.deepEqual(new Set(taken()), new Set([{ 'x-cache': 'hit' }, END, 'a']))
      assert.ok(deadline > Date.now() && deadline < Date.now() + 61_000)
      const reading = (async () => {
        for await (const _ of stream('endless', 500));
      })()
      await assert.rejects(soon(reading), { name: 'TimeoutError', timeout: 500 })
      await until('nothing is open', () => client.inFlight === 0)
    })
  })
})
