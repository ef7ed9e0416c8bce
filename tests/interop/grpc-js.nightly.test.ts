/** grpc-js, the library of Google and of Nest, as the other end of our connections. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { callGrpc, dispatcherOf, METHODS, serveGrpc } from '@elysia-microservices/grpc/testing'
import { until, within } from '@elysia-microservices/test-support'
import { type IncomingMessage, RpcError, StreamValues } from '@elysia-microservices/transport/kit'
import { fromOthers } from '../support/others.ts'

/** The part of grpc-js that these tests use. */
interface GrpcJs {
  readonly Server: new () => GrpcJsServer
  readonly Client: new (address: string, credentials: unknown) => GrpcJsClient
  readonly Metadata: new () => GrpcJsMetadata
  readonly credentials: { createInsecure(): unknown }
  readonly ServerCredentials: { createInsecure(): unknown }
}
interface GrpcJsMetadata {
  set(name: string, value: string): void
  get(name: string): unknown[]
}
interface GrpcJsError extends Error {
  readonly code: number
  readonly details: string
  readonly metadata: GrpcJsMetadata
}
interface GrpcJsStream extends NodeJS.ReadWriteStream {
  cancel(): void
  readonly request: string
  readonly metadata: GrpcJsMetadata
}
type Callback = (error: Partial<GrpcJsError> | null, value?: string) => void
interface GrpcJsClient {
  makeUnaryRequest(...parameters: unknown[]): { cancel(): void }
  makeServerStreamRequest(...parameters: unknown[]): GrpcJsStream
  makeClientStreamRequest(...parameters: unknown[]): GrpcJsStream
  makeBidiStreamRequest(...parameters: unknown[]): GrpcJsStream
  close(): void
}
interface GrpcJsServer {
  addService(definition: object, handlers: object): void
  bindAsync(address: string, credentials: unknown, bound: (error: Error | null, port: number) => void): void
  forceShutdown(): void
}

const write = (text: string) => Buffer.from(text)
const read = (bytes: Uint8Array) => Buffer.from(bytes).toString()
const path = (name: string) => `/test.Kinds/${name}`
const textOf = ({ data }: IncomingMessage) => data as string
const valuesOf = ({ data }: IncomingMessage) => data as AsyncIterable<string>
const soon = <Value>(promise: Promise<Value>) => within(promise, 'an answer')
const long = 'x'.repeat(3_000_000)

async function collect(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = []
  for await (const one of stream) all.push(one)
  return all
}

describe('a client of grpc-js', () => {
  let ours: Awaited<ReturnType<typeof serveGrpc>>
  let client: GrpcJsClient
  let grpc: GrpcJs
  let canceled = 0
  let made = 0

  before(async () => {
    ;({ grpc } = await fromOthers<{ readonly grpc: GrpcJs }>('grpc-js'))
    ours = await serveGrpc(
      METHODS,
      dispatcherOf({
        Unary(one) {
          if (textOf(one) === 'fail')
            throw new RpcError({ code: 'NOT_FOUND', message: `No order of ${one.headers['x-user']}: ü` })
          if (textOf(one) !== 'wait') return textOf(one)
          one.signal.addEventListener('abort', () => canceled++)
          return new Promise(() => {})
        },
        async *Down(one) {
          for (let at = 0; at < 1_000_000; at++) {
            made++
            yield textOf(one) === 'few' && at === 3 ? '' : 'v'.repeat(1_000)
            if (textOf(one) === 'few' && at === 3) return
          }
        },
        async Up(one) {
          return String((await collect(valuesOf(one))).length)
        },
        async *Both(one) {
          for await (const value of valuesOf(one)) yield `<${value}>`
        }
      })
    )
    client = new grpc.Client(`127.0.0.1:${ours.port}`, grpc.credentials.createInsecure())
  })
  after(() => {
    client.close()
    ours.stop()
  })

  const unary = (data: string, more: { readonly user?: string; readonly deadline?: number } = {}) => {
    const metadata = new grpc.Metadata()
    if (more.user !== undefined) metadata.set('x-user', more.user)
    return soon(
      new Promise<string>((resolve, reject) =>
        client.makeUnaryRequest(
          path('Unary'),
          write,
          read,
          data,
          metadata,
          { deadline: more.deadline ?? Date.now() + 60_000 },
          (error: Error | null, value: string) => (error === null ? resolve(value) : reject(error))
        )
      )
    )
  }

  it('is answered, also with 3 MB, and 500 calls at once', async () => {
    assert.equal(await unary('hello'), 'hello')
    assert.equal(await unary(''), '')
    assert.equal(await unary(long), long)
    const answers = await Promise.all(Array.from({ length: 500 }, (_, at) => unary(String(at))))
    assert.deepEqual(
      answers,
      Array.from({ length: 500 }, (_, at) => String(at))
    )
  })

  it('gets errors with their text, and sends metadata', async () => {
    await assert.rejects(unary('fail', { user: 'me' }), (error: GrpcJsError) => {
      assert.deepEqual([error.code, error.details], [5, 'No order of me: ü'])
      return true
    })
  })

  it('has deadlines, and cancels', async () => {
    await assert.rejects(unary('wait', { deadline: Date.now() + 200 }), { code: 4 })
    const call = client.makeUnaryRequest(path('Unary'), write, read, 'wait', () => {})
    await until('the call is there', () => ours.connections[0]!.inFlight === 1)
    const before = canceled
    call.cancel()
    await until('the handler is told', () => canceled > before)
  })

  it('streams down, up and both ways', async () => {
    assert.equal(
      (await soon(collect(client.makeServerStreamRequest(path('Down'), write, read, 'few')))).length,
      4
    )
    const answer = new Promise<string>((resolve, reject) => {
      const call = client.makeClientStreamRequest(
        path('Up'),
        write,
        read,
        (error: Error | null, value: string) => (error === null ? resolve(value) : reject(error))
      )
      for (let at = 0; at < 2_000; at++) call.write('x'.repeat(100))
      call.end()
    })
    assert.equal(await soon(answer), '2000')
    const both = client.makeBidiStreamRequest(path('Both'), write, read)
    for (const value of ['a', 'b', long.slice(0, 300_000)]) both.write(value)
    both.end()
    assert.deepEqual(await soon(collect(both)), ['<a>', '<b>', `<${long.slice(0, 300_000)}>`])
  })

  it('that reads slowly slows the generator', async () => {
    made = 0
    const stream = client.makeServerStreamRequest(path('Down'), write, read, 'many')
    stream.on('error', () => {})
    await soon(new Promise((resolve) => stream.once('data', resolve)))
    stream.pause()
    let last = -1
    await until('the generator waits', async () => {
      const isStill = last === made
      last = made
      await new Promise((resolve) => setTimeout(resolve, 200))
      return isStill
    })
    assert.ok(made < 20_000, `${made} values`)
    stream.cancel()
    await until('nothing runs', () => ours.connections[0]!.inFlight === 0)
  })
})

describe('a server of grpc-js', () => {
  let server: GrpcJsServer
  let ours: Awaited<ReturnType<typeof callGrpc>>
  let canceled = 0

  before(async () => {
    const { grpc } = await fromOthers<{ readonly grpc: GrpcJs }>('grpc-js')
    server = new grpc.Server()
    const method = (name: string, requestStream: boolean, responseStream: boolean) => ({
      path: path(name),
      requestStream,
      responseStream,
      requestSerialize: write,
      requestDeserialize: read,
      responseSerialize: write,
      responseDeserialize: read
    })
    server.addService(
      {
        Unary: method('Unary', false, false),
        Down: method('Down', false, true),
        Up: method('Up', true, false),
        Both: method('Both', true, true)
      },
      {
        Unary(call: GrpcJsStream, answer: Callback) {
          if (call.request === 'fail')
            return answer({ code: 5, details: `No order of ${call.metadata.get('x-user')[0]}: ü` })
          if (call.request !== 'wait') return answer(null, call.request)
          call.on('cancelled', () => canceled++)
        },
        Down(call: GrpcJsStream) {
          for (const value of ['a', '', 'c']) call.write(value)
          call.end()
        },
        async Up(call: GrpcJsStream, answer: Callback) {
          answer(null, String((await collect(call)).length))
        },
        Both(call: GrpcJsStream) {
          call.on('data', (value: unknown) => call.write(`<${value}>`))
          call.on('end', () => call.end())
        }
      }
    )
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error)
      )
    )
    ours = await callGrpc(METHODS, port)
  })
  after(() => {
    ours.close()
    server.forceShutdown()
  })

  const values = async function* (...all: string[]) {
    yield* all
  }
  const stream = (name: string, data: unknown) =>
    new StreamValues((receiver) => ours.caller.stream(`test.Kinds/${name}`, data, receiver))

  it('answers calls of all four kinds, of any size', async () => {
    const { caller } = ours
    for (const text of ['hello', 'x', long])
      assert.equal(await soon(caller.request('test.Kinds/Unary', text)), text)
    assert.deepEqual(await soon(collect(stream('Down', 'x'))), ['a', '', 'c'])
    assert.equal(await soon(caller.request('test.Kinds/Up', values(...'abcdef'))), '6')
    assert.deepEqual(await soon(collect(stream('Both', values('a', 'b')))), ['<a>', '<b>'])
    const answers = await soon(
      Promise.all(Array.from({ length: 300 }, (_, at) => caller.request('test.Kinds/Unary', String(at))))
    )
    assert.deepEqual(
      answers,
      Array.from({ length: 300 }, (_, at) => String(at))
    )
  })

  it('fails calls, and is told of deadlines', async () => {
    const { caller, connection } = ours
    await assert.rejects(soon(caller.request('test.Kinds/Unary', 'fail', { headers: { 'x-user': 'me' } })), {
      code: 'NOT_FOUND',
      message: 'No order of me: ü'
    })
    await assert.rejects(soon(caller.request('test.Kinds/Unary', 'wait', { timeout: 200 })), {
      name: 'TimeoutError'
    })
    await until('the server knows', () => canceled > 0)
    assert.equal(connection.inFlight, 0)
  })
})
