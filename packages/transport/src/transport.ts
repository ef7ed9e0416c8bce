/**
 * The interface of a transport. Users make one (`tcp({ port: 4000 })`) and give it to `microservice()` or `connect()`,
 * which make a server or a client from it.
 */
import type { Caller } from './call.ts'
import type { ClientListener, ClientStatus } from './client-event.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { DurableCaller, DurableFigures } from './durable/published.ts'
import type { Logger } from './logger.ts'

/** Abilities of a transport that stores events. */
export interface StoreTraits {
  /** An event published again with its `id` is stored once. */
  readonly once: boolean
  /** Events have positions, which `publish` gives and a group may start behind. */
  readonly positions: boolean
  /** The engine delivers again after a pause; otherwise a worker holds the event meanwhile. */
  readonly delays: boolean
  /** Durable handlers may have wildcards in their patterns. */
  readonly wildcards: boolean
  /** Dead letters can be listed, looked at and deleted one by one. */
  readonly browses: boolean
  /** Where a new group may begin. */
  readonly start: readonly ('new' | 'all' | 'since' | 'after')[]
}

/** Traits of a store without limits. */
export const STORES_EVERYTHING: StoreTraits = {
  once: true,
  positions: true,
  delays: true,
  wildcards: true,
  browses: true,
  start: ['new', 'all', 'since', 'after']
}

/** Abilities of a transport. Code checks these traits, never a transport's name. */
export interface Traits {
  /** `*` and `>` in the patterns of Nest's handlers are wildcards, so that each segment of a pattern needs a text. */
  readonly wildcards: boolean
  /**
   * Wildcards are `+` for one level between slashes and `#` for the rest, in all patterns; `*` and `>` are refused. Default:
   * false.
   */
  readonly levels?: boolean
  /**
   * Patterns are names of letters, digits, `.`, `_` and `-`: objects, wildcards and other texts are refused, with services
   * as with calls. Default: false.
   */
  readonly names?: boolean
  /** A call whose pattern nobody handles fails at once; otherwise when its time is over. */
  readonly hearsNobody: boolean
  /**
   * The party that shares messages among the processes of a service: an `'engine'`, through which a client reaches
   * every service there is, or the `'caller'` itself, which is connected to the processes of one service.
   */
  readonly shares: 'caller' | 'engine'
  /** Headers travel, also to and from Nest. */
  readonly headers: boolean
  /** A stream can be sent as data. */
  readonly channels: boolean
  /** Its abilities with durable events. Missing: it stores none. */
  readonly stores?: StoreTraits
}

/** Makes servers and clients. */
export interface Transport {
  /** The name, such as `'tcp'`; the field `transport` of messages. */
  readonly name: string
  readonly traits: Traits
  /**
   * Makes the server of a service.
   * @throws {OptionError} an option is wrong for a server, or the transport already has a server
   */
  server(context: ServerContext): ServerTransport
  /**
   * Makes a client.
   * @throws {OptionError} an option is wrong for a client
   */
  client(context: ClientContext): ClientTransport
}

/** Context of a server, given by its service. */
export interface ServerContext {
  /** The name of the service; brokers share work among all servers with the same name. `undefined` if it has none. */
  readonly name: string | undefined
  /** The version of the service; `undefined` if it has none. */
  readonly version: string | undefined
  /** Names this process among those of the service. Default: the transport chooses a name, where it needs one. */
  readonly instance?: string | undefined
  readonly logger: Logger
}

/** Context of a client, given by `connect()`. */
export interface ClientContext {
  readonly logger: Logger
  /** Name of the client. Default: that of this process (`callerName`). */
  readonly name?: string | undefined
  /** Milliseconds for a call without its own timeout; 0 for no limit. */
  readonly timeout: number
  /** Milliseconds for which a call may wait for a connection, without an option of its own. Default: its timeout. */
  readonly waitForConnection?: number | undefined
  /** Whether the user set `timeout`: only then the other side is told about it. */
  readonly tellTimeout: boolean
  /** Answers the server's calls to this client; `undefined` if there are no handlers. */
  readonly dispatcher: Dispatcher | undefined
}

/** Options of `stop()`. */
export interface StopOptions {
  /** Milliseconds that work in flight may still take before connections are cut. Default: 10,000. */
  readonly drain?: number
}

/** The address of a server. */
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
  /** Where it listens, with the real port; `undefined` while it does not listen, and for brokers. */
  readonly address?: Address | undefined
  /**
   * Starts to take messages. Can be called again after `stop`.
   * @throws {ListenError} it cannot listen
   * @throws {ConnectionError} the broker cannot be reached
   */
  start(dispatcher: Dispatcher): Promise<void>
  /** Takes no new work, lets work in flight end, then closes. Resolves when all is closed. */
  stop(options?: StopOptions): Promise<void>
  /** Current figures of the server. Costs nothing until it is called. */
  stats(): TransportStats
  /** Whether it stores events, for durable handlers. Default: false. */
  readonly isDurable?: boolean
  /**
   * Shares the address of this transport among several processes of one service. `undefined`: each process simply
   * starts its own server, as with a broker.
   */
  readonly sharing?: Sharing
}

/** A number next to its limit. */
export interface Gauge {
  readonly current: number
  /** 0 if there is no limit. */
  readonly limit: number
}

/** Current figures of a server. Transports add their own. */
export interface TransportStats {
  /** The name of the transport. */
  readonly transport: string
  readonly address: Address | undefined
  /** Requests, events and streams in flight, and their limit. */
  readonly inFlight: Gauge
  /** Open streams. */
  readonly streams: number
  /**
   * Why it takes no messages at the moment though it was started, in words: its engine is gone, or what it needs there
   * is. Missing while it takes them.
   */
  readonly unavailable?: string | undefined
  /** Its durable handlers; missing if it has none. */
  readonly durable?: readonly DurableFigures[]
}

/** Shares a transport among several processes of one service. Questions and places must survive `JSON.stringify`. */
export interface Sharing {
  /**
   * In the supervisor, in place of `start`: reserves the address that the workers share. Resolves with the place that
   * each worker gets in `join`.
   * @param ask puts a question to all running workers
   * @throws {ListenError} the address is taken
   * @throws {OptionError} the address cannot be shared
   */
  reserve(ask: (question: unknown) => Promise<void>): Promise<unknown>
  /** In the supervisor: the first question for a worker that has just started; `undefined` for none. */
  greeting(): unknown
  /** In the supervisor: no worker is left. */
  release(): void
  /** In a worker, before `start`. @param place the place from `reserve` */
  join(place: unknown): void
  /** In a worker: answers a question of the supervisor by doing what it asks. */
  answer(question: unknown): Promise<void>
}

/** The side that calls. It connects at the first call, and again after a lost connection. */
export interface ClientTransport extends Caller {
  /** The name of its transport. */
  readonly name: string
  readonly status: ClientStatus
  /** Events that are stored; `undefined`: it stores none. */
  readonly durable?: DurableCaller | undefined
  /** Tells a listener about all events from now on. Returns the function that removes the listener. */
  onEvent(listener: ClientListener): () => void
  /** Connects now. Rejects with a `ConnectionError` if that fails. */
  connect(): Promise<void>
  /** Closes all connections; waiting calls fail with a `ConnectionError`. Resolves when all is closed. */
  close(): Promise<void>
}
