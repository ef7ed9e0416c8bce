/**
 * Interoperates with rsocket-js 0.0.27, the version of its tag `latest`, as client and as server. In rsocket-js
 * each frame is one message.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { jsonCodec } from '@elysia-microservices/transport/kit'
import { type Message, memory, microservice, RpcError } from 'elysia-microservices'
import { WebSocket, WebSocketServer } from 'ws'
import { websocket } from './index.ts'
import { clientOf, listen, newApp } from './testing/app.ts'

const load = createRequire(import.meta.url)

/** The members of rsocket-js that are used; rsocket-js has no types. */
interface Payload {
  readonly data?: unknown
  readonly metadata?: unknown
}
interface Subscription {
  request(n: number): void
  cancel(): void
}
interface Subscriber {
  onSubscribe(subscription: Subscription): void
  onNext(payload: Payload): void
  onComplete(): void
  onError(error: Error & { source?: { message: string } }): void
}
interface Single {
  subscribe(subscriber: {
    onComplete(payload: Payload): void
    onError(error: Error & { source?: { message: string } }): void
    onSubscribe(): void
  }): void
}
interface Flowable {
  subscribe(subscriber: Subscriber): void
}
interface Requester {
  requestResponse(payload: Payload): Single
  requestStream(payload: Payload): Flowable
  requestChannel(payloads: unknown): Flowable
  fireAndForget(payload: Payload): void
  close(): void
}
const { RSocketClient, RSocketServer, BufferEncoders, encodeRoute, encodeCompositeMetadata } = load(
  'rsocket-core'
) as Record<string, never> as unknown as {
  RSocketClient: new (config: object) => { connect(): { subscribe(subscriber: object): void }; close(): void }
  RSocketServer: new (config: object) => { start(): void; stop(): void }
  BufferEncoders: object
  encodeRoute(route: string): Buffer
  encodeCompositeMetadata(entries: [unknown, Buffer][]): Buffer
}
const { Flowable: FlowableOf, Single: SingleOf } = load('rsocket-flowable') as {
  Flowable: { just(...values: unknown[]): Flowable; new (source: (subscriber: Subscriber) => void): Flowable }
  Single: { of(value: unknown): Single; error(error: Error): Single }
}
const WebSocketClient = (
  load('rsocket-websocket-client') as { default: new (options: object, encoders: object) => object }
).default
const WebSocketTransport = (
  load('rsocket-websocket-server') as {
    default: new (options: object, encoders: object, factory: (options: object) => unknown) => object
  }
).default

const ROUTING = 'message/x.rsocket.routing.v0'
const payloadOf = (route: string, value: unknown): Payload => ({
  data: Buffer.from(JSON.stringify(value)),
  metadata: encodeCompositeMetadata([[ROUTING, encodeRoute(route)]])
})
const contentOf = ({ data }: Payload): unknown => JSON.parse(String(data))

const answer = (single: Single) =>
  new Promise<unknown>((resolve, reject) =>
    single.subscribe({
      onComplete: (payload) => resolve(contentOf(payload)),
      onError: reject,
      onSubscribe() {}
    })
  )

/** Requests values two at a time, and cancels after `cancelAfter` values. */
const values = (flowable: Flowable, cancelAfter = Number.POSITIVE_INFINITY) =>
  new Promise<unknown[]>((resolve, reject) => {
    const all: unknown[] = []
    let subscription: Subscription
    flowable.subscribe({
      onSubscribe(given) {
        subscription = given
        subscription.request(2)
      },
      onNext(payload) {
        all.push(contentOf(payload))
        if (all.length >= cancelAfter) {
          subscription.cancel()
          resolve(all)
        } else if (all.length % 2 === 0) subscription.request(2)
      },
      onComplete: () => resolve(all),
      onError: reject
    })
  })

describe('rsocket-js asks our server', () => {
  it('for a value, an error, a stream by demand, a stream that it cancels, a channel, and sends an event', async () => {
    let left = 0
    const seen: unknown[] = []
    const service = microservice({ transport: memory(), logger: { error() {}, warn() {} } })
      .message('echo', ({ data }) => data)
      .message('fail', () => {
        throw new RpcError({ code: 'NO', message: 'no' })
      })
      .message('count', async function* ({ data }: Message<number>) {
        try {
          for (let n = 0; n < data; n++) yield n
        } finally {
          left++
        }
      })
      .message('double', async function* ({ data }: Message<AsyncIterable<number>>) {
        for await (const n of data) yield n * 2
      })
      .event('seen', ({ data }) => void seen.push(data))
      .message('all', () => seen)
    await using app = await listen(
      newApp()
        .use(service)
        .use(websocket({ expose: ['*'] }))
    )
    const client = new RSocketClient({
      setup: {
        dataMimeType: 'application/json',
        metadataMimeType: 'message/x.rsocket.composite-metadata.v0',
        keepAlive: 10_000,
        lifetime: 60_000
      },
      transport: new WebSocketClient(
        { url: app.url, wsCreator: (url: string) => new WebSocket(url), debug: false },
        BufferEncoders
      )
    })
    const requester = await new Promise<Requester>((resolve, reject) =>
      client.connect().subscribe({ onComplete: resolve, onError: reject, onSubscribe() {} })
    )
    const value = { text: 'é€😀', list: [1, null] }
    assert.deepEqual(await answer(requester.requestResponse(payloadOf('echo', value))), value)
    await assert.rejects(answer(requester.requestResponse(payloadOf('fail', 1))), /"code":"NO"/)
    const numbers = (to: number) => Array.from({ length: to }, (_, n) => n)
    assert.deepEqual(await values(requester.requestStream(payloadOf('count', 101))), numbers(101))
    assert.deepEqual(await values(requester.requestStream(payloadOf('count', 1_000_000)), 5), numbers(5))
    while (left < 2) await new Promise((resolve) => setTimeout(resolve, 2))
    const channel = requester.requestChannel(FlowableOf.just(...[1, 2, 3].map((n) => payloadOf('double', n))))
    assert.deepEqual(await values(channel), [2, 4, 6])
    requester.fireAndForget(payloadOf('seen', 7))
    assert.deepEqual(await answer(requester.requestResponse(payloadOf('all', null))), [7])
    const large = 'x'.repeat(100_000)
    assert.equal(await answer(requester.requestResponse(payloadOf('echo', large))), large)
    client.close()
  })
})

describe('our client asks rsocket-js', () => {
  it('for a value, an error, a stream, a channel, and sends an event', async () => {
    const events: unknown[] = []
    const decoded = ({ data }: Payload) => {
      const bytes = data as Buffer
      return jsonCodec.decode(bytes, 0, bytes.length)
    }
    const of = (value: unknown) => ({ data: Buffer.from(JSON.stringify(value)) })
    const routeOf = ({ metadata }: Payload) => /echo|fail/.exec(String(metadata))?.[0]
    let sockets: WebSocketServer | undefined
    const server = new RSocketServer({
      getRequestHandler: () => ({
        requestResponse: (payload: Payload) =>
          routeOf(payload) === 'fail' ? SingleOf.error(new Error('no')) : SingleOf.of(of(decoded(payload))),
        requestStream: (payload: Payload) =>
          FlowableOf.just(...Array.from({ length: decoded(payload) as number }, (_, n) => of(n))),
        requestChannel: (payloads: Flowable) => payloads,
        fireAndForget: (payload: Payload) => void events.push(decoded(payload))
      }),
      transport: new WebSocketTransport({ host: '127.0.0.1', port: 0 }, BufferEncoders, (options) => {
        sockets = new WebSocketServer(options)
        return sockets
      })
    })
    server.start()
    while (sockets === undefined) await new Promise((resolve) => setTimeout(resolve, 2))
    const listening = sockets
    if (listening.address() === null) await once(listening, 'listening')
    const { port } = listening.address() as AddressInfo
    const client = clientOf({ url: `ws://127.0.0.1:${port}` }) as unknown as {
      request(pattern: string, data: unknown): Promise<unknown>
      stream(pattern: string, data: unknown): AsyncIterable<unknown>
      emit(pattern: string, data: unknown): Promise<void>
      close(): Promise<void>
    }
    try {
      assert.deepEqual(await client.request('echo', { a: ['é'] }), { a: ['é'] })
      await assert.rejects(client.request('fail', 1), { name: 'RpcError' })
      const all: unknown[] = []
      for await (const value of client.stream('count', 700)) all.push(value)
      assert.equal(all.length, 700)
      async function* numbers() {
        for (let n = 0; n < 5; n++) yield n
      }
      const echoed: unknown[] = []
      for await (const value of client.stream('channel', numbers())) echoed.push(value)
      assert.deepEqual(echoed, [0, 1, 2, 3, 4])
      await client.emit('seen', 7)
      await client.request('echo', 1)
      assert.deepEqual(events, [7])
    } finally {
      await client.close()
      server.stop()
      for (const socket of listening.clients) socket.terminate()
      listening.close()
    }
  })
})
