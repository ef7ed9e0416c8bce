/** A server of calls without sockets, whose client is the test. */

import { prefixed } from '@elysia-microservices/protobuf/rpc'
import { FakeClock, FakeOutput } from '@elysia-microservices/rsocket/testing'
import { Log } from '@elysia-microservices/test-support'
import { GrpcConnection, type GrpcConnectionInit } from '../server/grpc-connection.ts'
import { FrameWords, PREFACE_BYTES, settings } from './frames.ts'
import { dispatcherOf, METHODS } from './service.ts'

type Handlers = Parameters<typeof dispatcherOf>[0]

/** The fields of a call. */
export const call = (method: string, ...more: readonly (readonly [string, string])[]) =>
  [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', `/test.Kinds/${method}`],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
    ...more
  ] as const
/** A message with its prefix. */
export const message = (text: string) => prefixed(Buffer.from(text))

/** A server whose client is the test. */
export class Server {
  readonly output = new FakeOutput()
  readonly clock = new FakeClock()
  readonly log = new Log()
  readonly connection: GrpcConnection
  readonly #words = new FrameWords()

  constructor(handlers: Handlers, more: Partial<GrpcConnectionInit> = {}) {
    this.connection = new GrpcConnection({
      methods: METHODS,
      dispatcher: dispatcherOf(handlers),
      logger: this.log.logger,
      maxMessageSize: 1_000,
      maxHeldSize: 10_000,
      maxIncompleteSize: 2_000,
      newTimer: this.clock.newTimer,
      ...more
    })
    this.connection.open(this.output)
    this.receives(PREFACE_BYTES, settings())
    this.output.sent()
  }

  receives(...chunks: readonly Uint8Array[]): void {
    this.connection.receive(Uint8Array.from(Buffer.concat(chunks)))
  }

  /** The frames since the last call; of DATA without the five bytes before a message. */
  sent(): string[] {
    return this.#words
      .of(this.output.sent())
      .filter((one) => !/^(SETTINGS|WINDOW_UPDATE)/.test(one))
      .map((one) => one.replace(/^(DATA \d+) [\s\S]{5}/, '$1 ').trimEnd())
  }
}
