/** What the bench uses of rsocket-js 0.0.27, which has no types and is made of CommonJS. */

import { createRequire } from 'node:module'
import type { Server, Socket } from 'node:net'
import type { ShapeName } from '../../payload/payload.ts'

interface Subscriber<T> {
  onComplete(value: T): void
  onError(error: Error): void
}

interface Single<T> {
  subscribe(subscriber: Subscriber<T>): void
}

export interface RSocketPayload {
  readonly data: unknown
}

export interface RSocket {
  requestResponse(payload: RSocketPayload): Single<RSocketPayload>
}

/** How values become frames; opaque here. */
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
const { Single } = require('rsocket-flowable') as { Single: { of<T>(value: T): Single<T> } }

/** Bytes as they are, everything else as JSON. */
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

/** A server that answers with what it was sent. */
export function makeEchoServer(
  host: string,
  port: number,
  shape: ShapeName,
  serverFactory: ServerFactory
): RSocketServer {
  const { serializers, encoders } = encodingOf(shape)
  return new core.RSocketServer({
    serializers,
    getRequestHandler: () => ({
      requestResponse: ({ data }: RSocketPayload) => Single.of({ data })
    }),
    transport: new RSocketTcpServer({ host, port, serverFactory }, encoders)
  })
}
