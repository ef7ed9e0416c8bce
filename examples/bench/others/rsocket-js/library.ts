/** Types for the parts of rsocket-js 0.0.27 that the bench uses: the package is CommonJS without types. */

import { createRequire } from 'node:module'
import type { Server, Socket } from 'node:net'
import type { ShapeName } from '../../payload/payload.ts'
import type { Listen } from '../../peers/run-server.ts'
import { records } from '../../peers/work.ts'

interface Subscriber<T> {
  onComplete(value: T): void
  onError(error: Error): void
}

interface SingleSink<T> extends Subscriber<T> {
  onSubscribe(): void
}

interface Single<T> {
  subscribe(subscriber: Subscriber<T>): void
}

export interface RSocketPayload {
  readonly data: unknown
}

/** A stream with demand. */
export interface Flowable<T> {
  subscribe(subscriber: {
    onSubscribe(subscription: Subscription): void
    onNext(value: T): void
    onComplete(): void
    onError(error: Error): void
  }): void
}

export interface Subscription {
  request(count: number): void
  cancel(): void
}

/** Receives as many values by `onNext` as were requested. */
interface FlowableSink<T> {
  onSubscribe(subscription: Subscription): void
  onNext(value: T): void
  onComplete(): void
}

export interface RSocket {
  requestStream(payload: RSocketPayload): Flowable<RSocketPayload>
  fireAndForget(payload: RSocketPayload): void
  requestResponse(payload: RSocketPayload): Single<RSocketPayload>
}

/** The encoding of values as frames, which is opaque here. */
interface Encoding {
  readonly serializers: unknown
  readonly encoders: unknown
}

interface RSocketClient {
  connect(): Single<RSocket>
  close(): void
}

interface RSocketServer {
  start(): void
  stop(): void
}

interface Core {
  RSocketClient: new (config: object) => RSocketClient
  RSocketServer: new (config: object) => RSocketServer
  JsonSerializers: unknown
  IdentitySerializers: unknown
  Utf8Encoders: unknown
  BufferEncoders: unknown
}

interface TcpClientModule {
  default: new (options: { host: string; port: number; noDelay: boolean }, encoders: unknown) => object
}

interface TcpServerModule {
  default: new (
    options: { host: string; port: number; serverFactory: ServerFactory },
    encoders: unknown
  ) => object
}

export type ServerFactory = (onConnection: (socket: Socket) => void) => Server

const require = createRequire(import.meta.url)
const core = require('rsocket-core') as Core
const { default: RSocketTcpClient } = require('rsocket-tcp-client') as TcpClientModule
const { default: RSocketTcpServer } = require('rsocket-tcp-server') as TcpServerModule
const { Single, Flowable } = require('rsocket-flowable') as {
  Single: { new <T>(source: (sink: SingleSink<T>) => void): Single<T>; of<T>(value: T): Single<T> }
  Flowable: new <T>(source: (sink: FlowableSink<T>) => void) => Flowable<T>
}

/** Sends bytes as they are, and everything else as JSON. */
function encodingOf(shape: ShapeName): Encoding & { readonly mimeType: string } {
  return shape === 'binary'
    ? {
        serializers: core.IdentitySerializers,
        encoders: core.BufferEncoders,
        mimeType: 'application/octet-stream'
      }
    : { serializers: core.JsonSerializers, encoders: core.Utf8Encoders, mimeType: 'application/json' }
}

export function makeClient(host: string, port: number, shape: ShapeName): RSocketClient {
  const { serializers, encoders, mimeType } = encodingOf(shape)
  return new core.RSocketClient({
    serializers,
    setup: { keepAlive: 20_000, lifetime: 90_000, dataMimeType: mimeType, metadataMimeType: mimeType },
    transport: new RSocketTcpClient({ host, port, noDelay: true }, encoders)
  })
}

/** Answers with a result, now or when its promise resolves. */
function answerWith(result: unknown): Single<RSocketPayload> {
  if (!(result instanceof Promise)) return Single.of({ data: result })
  return new Single((sink) => {
    sink.onSubscribe()
    result.then((data) => sink.onComplete({ data }), sink.onError)
  })
}

/** Streams this many records, as many at a time as are requested. */
const countTo = (count: number): Flowable<RSocketPayload> =>
  new Flowable((sink) => {
    const values = records(count)
    let isOver = false
    sink.onSubscribe({
      cancel: () => {
        isOver = true
      },
      request: (demand) => {
        for (let left = demand; left > 0 && !isOver; left--) {
          const next = values.next()
          isOver = next.done === true
          if (next.done !== true) sink.onNext({ data: next.value })
          else sink.onComplete()
        }
      }
    })
  })

/** A server that echoes requests, streams records and handles events. */
export function makeEchoServer(
  { host, port, shape, work }: Listen,
  serverFactory: ServerFactory
): RSocketServer {
  const { serializers, encoders } = encodingOf(shape)
  return new core.RSocketServer({
    serializers,
    getRequestHandler: () => ({
      requestResponse: ({ data }: RSocketPayload) => answerWith(work.answer(data)),
      requestStream: ({ data }: RSocketPayload) => countTo(data as number),
      fireAndForget: () => work.event()
    }),
    transport: new RSocketTcpServer({ host, port, serverFactory }, encoders)
  })
}
