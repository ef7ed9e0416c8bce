/**
 * One end of an RSocket connection under test: the test passes frames in, and gets the frames that the end sends as
 * text.
 */
import '@elysia-microservices/transport/msgpack'
import {
  type Caller,
  type Dispatcher,
  type IncomingMessage,
  PatternNotFoundError,
  PendingCaller,
  type Route
} from '@elysia-microservices/transport/kit'
import type { ProtocolConnection } from '../connection/protocol.ts'
import { NO_LIMITS } from '../limits/server-limits.ts'
import { ClientConnection } from '../protocol/client-connection.ts'
import { clientResponder } from '../protocol/client-responder.ts'
import { toWireError } from '../protocol/failure-codes.ts'
import type { ClientConnectionOptions, ServerConnectionOptions } from '../protocol/options.ts'
import { MetadataReader } from '../protocol/request-metadata.ts'
import type { ServerConnection } from '../protocol/server-connection.ts'
import { ServerHandshake } from '../protocol/server-handshake.ts'
import { describeFrames } from './describe-frames.ts'
import { FakeClock, FakeOutput } from './peer.ts'
import { setup } from './rsocket-frames.ts'
import { RecordingLogger } from './service.ts'

/** Handlers by route. */
export type Handlers = Readonly<Record<string, (message: IncomingMessage) => unknown>>

/** Calls handlers by route, and records every message. */
export class RouteDispatcher implements Dispatcher {
  readonly requests: IncomingMessage[] = []
  readonly events: IncomingMessage[] = []
  readonly #handlers: Handlers

  constructor(handlers: Handlers) {
    this.#handlers = { echo: ({ data }) => data, ...handlers }
  }

  routes(): readonly Route[] {
    return Object.keys(this.#handlers).map((route) => ({ kind: 'message', route }))
  }

  request(message: IncomingMessage): unknown {
    this.requests.push(message)
    const handler = this.#handlers[String(message.route)]
    if (handler === undefined) throw PatternNotFoundError.of(message.pattern)
    return handler(message)
  }

  event(message: IncomingMessage): void | Promise<void> {
    this.events.push(message)
    return this.#handlers[String(message.route)]?.(message) as void | Promise<void>
  }
}

/** A connection of a client or a server, with its dispatcher, output and clock. */
export class ConnectionUnderTest<Connection extends ProtocolConnection> {
  readonly dispatcher: RouteDispatcher
  readonly output: FakeOutput
  readonly clock: FakeClock
  readonly logger: RecordingLogger
  /** Makes calls to the other side. */
  readonly caller: Caller
  readonly #first: Connection

  constructor(connection: Connection, parts: Parts, caller: Caller) {
    this.#first = connection
    this.caller = caller
    this.dispatcher = parts.dispatcher
    this.output = parts.output
    this.clock = parts.clock
    this.logger = parts.logger
  }

  /** The current protocol of the socket: on a server first the handshake, then the connection. */
  get connection(): Connection {
    return (this.output.adopted as Connection | undefined) ?? this.#first
  }

  /** Passes frames to the connection, one chunk each; returns the frames that it has sent. */
  on(...frames: Uint8Array[]): string[] {
    for (const bytes of frames) this.connection.receive(bytes)
    return describeFrames(this.output.sent())
  }

  /** Lets promises settle; returns the frames that the connection has sent. */
  async later(): Promise<string[]> {
    await turn()
    return describeFrames(this.output.sent())
  }

  /** Moves the clock; returns the frames that the connection has sent. */
  after(milliseconds: number): string[] {
    this.clock.pass(milliseconds)
    return describeFrames(this.output.sent())
  }

  /** Whether the connection was ended by this side. */
  get ended(): boolean {
    return this.output.ended !== undefined
  }
}

interface Parts {
  readonly dispatcher: RouteDispatcher
  readonly output: FakeOutput
  readonly clock: FakeClock
  readonly logger: RecordingLogger
}

function makeParts(handlers: Handlers): Parts {
  return {
    dispatcher: new RouteDispatcher(handlers),
    output: new FakeOutput(),
    clock: new FakeClock(),
    logger: new RecordingLogger()
  }
}

const LIMITS = { maxMessageSize: 1_000, maxBufferSize: 10_000, maxUnsent: 10_000 }

export type ServerUnderTest = ConnectionUnderTest<ProtocolConnection>
export type ClientUnderTest = ConnectionUnderTest<ClientConnection>

/** Makes a server connection that has not received anything yet. */
export function newRsocketServer(
  options: Partial<ServerConnectionOptions> = {},
  handlers: Handlers = {},
  to = new FakeOutput()
): ServerUnderTest {
  const parts = { ...makeParts(handlers), output: to }
  const { dispatcher, output, clock, logger } = parts
  const handshake = new ServerHandshake(
    {
      ...LIMITS,
      transport: 'tcp',
      dispatcher,
      logger,
      newTimer: clock.newTimer,
      authenticate: undefined,
      handshakeTimeout: 0,
      metadataReader: (mimeType) => new MetadataReader(mimeType),
      resumable: undefined,
      limits: NO_LIMITS,
      ...options
    },
    output
  )
  const theCaller = () => (output.adopted as ServerConnection).caller
  return new ConnectionUnderTest<ProtocolConnection>(handshake, parts, {
    request: (...args) => theCaller().request(...args),
    stream: (...args) => theCaller().stream(...args),
    emit: (...args) => theCaller().emit(...args)
  })
}

/** Makes a server connection that has accepted an ordinary SETUP. */
export function rsocketServer(
  handlers: Handlers = {},
  options: Partial<ServerConnectionOptions> = {}
): ServerUnderTest {
  const server = newRsocketServer(options, handlers)
  server.connection.receive(setup())
  return server
}

/** Makes a client connection without a socket: `connection.open(output)` sets one. Keepalive and timeouts are off. */
export function newRsocketClient(
  options: Partial<ClientConnectionOptions> = {},
  handlers?: Handlers
): ClientUnderTest {
  const parts = makeParts(handlers ?? {})
  const { dispatcher, clock, logger } = parts
  const connection = new ClientConnection({
    toWireError,
    ...LIMITS,
    where: 'tcp://test:4000',
    responder: handlers === undefined ? undefined : clientResponder('tcp', dispatcher),
    logger,
    newTimer: clock.newTimer,
    dataMimeType: 'application/json',
    keepaliveInterval: 1e9,
    keepaliveLifetime: 2e9,
    timeout: 0,
    lease: false,
    resume: undefined,
    goingAway: () => {},
    ...options
  })
  const caller = new PendingCaller((call) => connection.calls.start(call), options.timeout ?? 0)
  return new ConnectionUnderTest(connection, parts, caller)
}

/** Makes a client connection that has sent its SETUP; the SETUP is not among the frames that the methods return. */
export function rsocketClient(
  options: Partial<ClientConnectionOptions> = {},
  handlers?: Handlers
): ClientUnderTest {
  const client = newRsocketClient(options, handlers)
  client.connection.open(client.output)
  client.output.sent()
  return client
}

/**
 * Records the outcome of a call: the list grows by one text each time the call settles, so that a second time is
 * noticed.
 */
export function outcomeOf(call: Promise<unknown>): string[] {
  const outcome: string[] = []
  call.then(
    (value) => outcome.push(value === undefined ? 'undefined' : JSON.stringify(value)),
    (error: Error) => outcome.push(error.name)
  )
  return outcome
}

/** Records a stream: values as JSON, then `complete` or the name of the error. */
export class RecordingReceiver {
  readonly seen: string[] = []

  next(value: unknown): void {
    this.seen.push(value === undefined ? 'undefined' : JSON.stringify(value))
  }

  complete(): void {
    this.seen.push('complete')
  }

  error(error: Error): void {
    this.seen.push(error.name)
  }
}

/** Resolves when all promises that can settle now have settled. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
