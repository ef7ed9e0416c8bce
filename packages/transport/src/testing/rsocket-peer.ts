/** One end of an RSocket connection under test: frames go in, what it sends comes out in words. */
import { type Dispatcher, type IncomingMessage, NO_HANDLER } from '../dispatch.ts'
import { NO_LIMITS } from '../limits/server-limits.ts'
import type { ProtocolConnection } from '../protocol/connection.ts'
import { RSocketClientConnection } from '../protocol/rsocket/client-connection.ts'
import type { RSocketClientOptions, RSocketServerOptions } from '../protocol/rsocket/options.ts'
import { MetadataReader } from '../protocol/rsocket/request-metadata.ts'
import { RSocketServerConnection } from '../protocol/rsocket/server-connection.ts'
import { describeFrames } from './describe-frames.ts'
import { FakeOutput, FakeTimer } from './peer.ts'
import { setup } from './rsocket-frames.ts'
import { RecordingLogger } from './service.ts'

/** Answers by route. */
export type Handlers = Readonly<Record<string, (message: IncomingMessage) => unknown>>

/** Calls handlers by route, and remembers every message it got. */
export class RouteDispatcher implements Dispatcher {
  readonly requests: IncomingMessage[] = []
  readonly events: IncomingMessage[] = []
  readonly #handlers: Handlers

  constructor(handlers: Handlers) {
    this.#handlers = { echo: ({ data }) => data, ...handlers }
  }

  request(message: IncomingMessage): unknown {
    this.requests.push(message)
    const handler = this.#handlers[String(message.route)]
    return handler === undefined ? NO_HANDLER : handler(message)
  }

  event(message: IncomingMessage): void | Promise<void> {
    this.events.push(message)
    return this.#handlers[String(message.route)]?.(message) as void | Promise<void>
  }
}

/** A connection of either role, with all there is around it. */
export class ConnectionUnderTest<Connection extends ProtocolConnection> {
  readonly connection: Connection
  readonly dispatcher: RouteDispatcher
  readonly output: FakeOutput
  readonly timer: FakeTimer
  readonly logger: RecordingLogger

  constructor(connection: Connection, parts: Parts) {
    this.connection = connection
    this.dispatcher = parts.dispatcher
    this.output = parts.output
    this.timer = parts.timer
    this.logger = parts.logger
  }

  /** Gives it frames, one chunk each; what it has sent by then. */
  on(...frames: Uint8Array[]): string[] {
    for (const bytes of frames) this.connection.receive(bytes)
    return describeFrames(this.output.sent())
  }

  /** Lets promises settle; what it has sent by then. */
  async later(): Promise<string[]> {
    await turn()
    return describeFrames(this.output.sent())
  }

  /** Lets time pass; what it has sent by then. */
  after(milliseconds: number): string[] {
    this.timer.pass(milliseconds)
    return describeFrames(this.output.sent())
  }

  /** It has ended the connection. */
  get ended(): boolean {
    return this.output.ended !== undefined
  }
}

interface Parts {
  readonly dispatcher: RouteDispatcher
  readonly output: FakeOutput
  readonly timer: FakeTimer
  readonly logger: RecordingLogger
}

function makeParts(handlers: Handlers): Parts {
  return {
    dispatcher: new RouteDispatcher(handlers),
    output: new FakeOutput(),
    timer: new FakeTimer(),
    logger: new RecordingLogger()
  }
}

const LIMITS = {
  maxPayloadSize: 1_000,
  maxBufferSize: 10_000,
  maxSendBufferSize: 10_000,
  fragmentSize: 0xffffff
}
const PEER = { remoteAddress: undefined, remotePort: undefined, onClose: () => () => {} }

export type ServerUnderTest = ConnectionUnderTest<RSocketServerConnection>
export type ClientUnderTest = ConnectionUnderTest<RSocketClientConnection>

/** A server connection that has not received anything yet. */
export function newRsocketServer(
  options: Partial<RSocketServerOptions> = {},
  handlers: Handlers = {}
): ServerUnderTest {
  const parts = makeParts(handlers)
  const { dispatcher, output, timer, logger } = parts
  const connection = new RSocketServerConnection({
    ...LIMITS,
    dispatcher,
    logger,
    connection: PEER,
    timer,
    lease: undefined,
    authenticate: undefined,
    handshakeTimeout: 0,
    metadataReader: (mimeType) => new MetadataReader(mimeType),
    resumable: undefined,
    limits: NO_LIMITS,
    ...options
  })
  timer.wake = (now) => connection.wake(now)
  connection.open(output)
  return new ConnectionUnderTest(connection, parts)
}

/** A server connection that has accepted an ordinary SETUP. */
export function rsocketServer(
  handlers: Handlers = {},
  options: Partial<RSocketServerOptions> = {}
): ServerUnderTest {
  const server = newRsocketServer(options, handlers)
  server.connection.receive(setup())
  return server
}

/** A client connection without socket: `connection.open(output)` gives it one. Keepalive and timeouts are off. */
export function newRsocketClient(
  options: Partial<RSocketClientOptions> = {},
  handlers?: Handlers
): ClientUnderTest {
  const parts = makeParts(handlers ?? {})
  const { dispatcher, timer, logger } = parts
  const connection = new RSocketClientConnection({
    ...LIMITS,
    dispatcher: handlers === undefined ? undefined : dispatcher,
    logger,
    connection: PEER,
    timer,
    dataMimeType: 'application/json',
    keepaliveInterval: 1e9,
    keepaliveLifetime: 2e9,
    timeout: 0,
    tellTimeout: false,
    lease: false,
    credentials: undefined,
    resume: undefined,
    goingAway: () => {},
    ...options
  })
  timer.wake = (now) => connection.wake(now)
  return new ConnectionUnderTest(connection, parts)
}

/** A client connection whose SETUP has been sent (and is not among what it is seen to send). */
export function rsocketClient(
  options: Partial<RSocketClientOptions> = {},
  handlers?: Handlers
): ClientUnderTest {
  const client = newRsocketClient(options, handlers)
  client.connection.open(client.output)
  client.output.sent()
  return client
}

/** What became of a call; grows by one text with each settling, so that a second one would be seen. */
export function outcomeOf(call: Promise<unknown>): string[] {
  const outcome: string[] = []
  call.then(
    (value) => outcome.push(value === undefined ? 'undefined' : JSON.stringify(value)),
    (error: Error) => outcome.push(error.name)
  )
  return outcome
}

/** Collects what a stream brings: values as JSON, then `complete` or the name of the error. */
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
