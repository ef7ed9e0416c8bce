/**
 * What a transport is, whatever it runs on. A transport is a value that users make (`tcp({ port: 4000 })`) and give
 * to `microservice()` or `connect()`, which make a server or a client of it.
 */
import type { Caller } from './call.ts'
import type { ClientListener, ClientStatus } from './client-event.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { Logger } from './logger.ts'

/** Makes servers and clients. */
export interface Transport {
  /** Such as `'tcp'`. Messages carry it as their `transport`. */
  readonly name: string
  /**
   * The server of a service.
   * @throws {OptionError} an option is not what it must be for a server, or the transport has a server already
   */
  server(context: ServerContext): ServerTransport
  /**
   * A client.
   * @throws {OptionError} an option is not what it must be for a client
   */
  client(context: ClientContext): ClientTransport
}

/** What a server is made for. */
export interface ServerContext {
  /** The name of the service; brokers share its work among all servers of one name. `undefined` if it has none. */
  readonly name: string | undefined
  /** The version of the service; `undefined` if it says none. */
  readonly version: string | undefined
  readonly logger: Logger
}

/** What a client is made for. */
export interface ClientContext {
  readonly logger: Logger
  /** Milliseconds for a call that says nothing else; 0 for no limit. */
  readonly timeout: number
  /** Whether somebody has chosen `timeout`: then the other side is told of it. */
  readonly tellTimeout: boolean
  /** Answers what the server asks its clients; `undefined`: nothing does. */
  readonly dispatcher: Dispatcher | undefined
}

/** How a server stops. */
export interface StopOptions {
  /** Milliseconds that work in flight may still take; after it connections are cut. Default: 10,000. */
  readonly drain?: number
}

/** Where something listens. */
export interface Address {
  /** Host name or address; empty for a Unix socket. */
  readonly host: string
  /** Port; 0 for a Unix socket. */
  readonly port: number
  /** Path of a Unix socket; `undefined` for a port. */
  readonly path?: string | undefined
}

/** The side that answers. */
export interface ServerTransport {
  /** The name of its transport. */
  readonly name: string
  /** Where it listens, with the real port; `undefined` while it does not, and of brokers. */
  readonly address?: Address | undefined
  /**
   * Starts to receive and to dispatch. Can be called again after `stop`.
   * @throws {ListenError} it cannot listen
   * @throws {ConnectionError} the broker cannot be reached
   */
  start(dispatcher: Dispatcher): Promise<void>
  /** Takes no new work, lets work in flight end, then closes. Resolves when all is closed. */
  stop(options?: StopOptions): Promise<void>
  /** What it does at the moment. Costs something only when it is asked. */
  stats(): TransportStats
  /**
   * For services of several processes: how they share what this transport listens on. `undefined`: each process
   * starts its own server, as that of a broker is.
   */
  readonly sharing?: Sharing
}

/** A figure next to its limit. */
export interface Gauge {
  readonly current: number
  /** 0 if there is none. */
  readonly limit: number
}

/** What a server does at the moment. Transports add figures of their own. */
export interface TransportStats {
  /** The name of the transport. */
  readonly transport: string
  readonly address: Address | undefined
  /** Requests, events and streams in flight, and their limit. */
  readonly inFlight: Gauge
  /** Streams that are open. */
  readonly streams: number
}

/**
 * How several processes of one service share a transport. What is said between them must survive
 * `JSON.stringify`.
 */
export interface Sharing {
  /**
   * In the supervisor, in place of `start`: takes hold of what the workers share, and gives what each of them is
   * told before it starts.
   * @param ask puts a question to all workers that run
   * @throws {ListenError} what they would share is taken
   * @throws {OptionError} it cannot be shared
   */
  reserve(ask: (question: unknown) => Promise<void>): Promise<unknown>
  /** In the supervisor: what a worker that has just started is asked first; `undefined` for nothing. */
  greeting(): unknown
  /** In the supervisor: no worker is left. */
  release(): void
  /** In a worker, before `start`. @param place what `reserve` gave */
  join(place: unknown): void
  /** In a worker: does what the supervisor asks. */
  answer(question: unknown): Promise<void>
}

/** The side that calls. It connects when it is first needed, and again when a connection is lost. */
export interface ClientTransport extends Caller {
  /** The name of its transport. */
  readonly name: string
  readonly status: ClientStatus
  /** Tells a listener what happens from now on. Returns the function that ends it. */
  onEvent(listener: ClientListener): () => void
  /** Connects now. Rejects with a `ConnectionError` if it cannot. */
  connect(): Promise<void>
  /** Closes; calls that still wait fail with a `ConnectionError`. Resolves when all is closed. */
  close(): Promise<void>
}
