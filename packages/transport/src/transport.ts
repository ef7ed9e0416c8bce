/**
 * The interface of a transport. Users make a transport (`tcp({ port: 4000 })`) and pass it to `microservice()` or
 * `connect()`, which make a server or a client with it.
 */
import type { Caller } from './call.ts'
import type { ClientStatus, ConnectionListener } from './connection-event.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { DurableCaller, DurableFigures } from './durable/published.ts'
import type { MessageHeaders } from './headers.ts'
import type { Logger } from './logger.ts'

/** Abilities of a transport that stores events. */
export interface StoreTraits {
  /** An event that is published again with the same `id` is stored only once. */
  readonly once: boolean
  /** Stored events have positions. `publish` returns the position, and a group may start behind it. */
  readonly positions: boolean
  /**
   * The engine itself waits before it delivers an event again. Without this ability, a worker holds the event during
   * the pause.
   */
  readonly delays: boolean
  /** The store keeps events until their time comes (`at`, `delay`). */
  readonly future: boolean
  /** A handler may write in the transaction that acknowledges its event (`durable.transactional`). */
  readonly transactions: boolean
  /** Durable handlers may have wildcards in their patterns. */
  readonly wildcards: boolean
  /** Dead letters can be listed, read and deleted one by one. */
  readonly browses: boolean
  /**
   * Which events of a group's backlog can be read: all, or those that no process has had (`waiting`). Missing: none can.
   */
  readonly backlog?: 'all' | 'waiting'
  /** The values of `start` that a new group may have. */
  readonly start: readonly ('new' | 'all' | 'since' | 'after')[]
}

/** Traits of a store without limits. */
export const STORES_EVERYTHING: StoreTraits = {
  once: true,
  positions: true,
  delays: true,
  future: false,
  transactions: false,
  wildcards: true,
  browses: true,
  start: ['new', 'all', 'since', 'after']
}

/** Abilities of a transport. Code checks these traits, never a transport's name. */
export interface Traits {
  /** `*` and `>` in the patterns of Nest's handlers are wildcards, so a segment of a pattern must not be empty. */
  readonly wildcards: boolean
  /**
   * Wildcards are `+` for one level between slashes and `#` for all further levels, in all patterns; `*` and `>` are
   * refused. Default: false.
   */
  readonly levels?: boolean
  /**
   * Patterns consist of letters, digits, `.`, `_` and `-`: object patterns, wildcards and other characters are refused,
   * in services and in calls. Default: false.
   */
  readonly names?: boolean
  /**
   * A call whose pattern no service handles fails at once; without this ability, it fails at the end of its timeout.
   */
  readonly hearsNobody: boolean
  /**
   * Decides which process of a service gets a message. `'engine'`: the engine does, and a client reaches every service
   * that is connected to the engine. `'caller'`: the client does, and is connected to the processes of one service.
   */
  readonly shares: 'caller' | 'engine'
  /**
   * `false`: a request goes to one process of each service that handles its pattern, and the first answer counts.
   * Default: it goes to one process in all, whatever the names of the services are.
   */
  readonly sharesRequests?: boolean
  /** Messages have headers, also those to and from Nest. */
  readonly headers: boolean
  /** A call can send a stream as its data. */
  readonly channels: boolean
  /** Answers have headers, between ends of this library: `set` of handlers, `onHeaders` of calls. Default: false. */
  readonly answerHeaders?: boolean
  /** Abilities with durable events. Missing if the transport stores no events. */
  readonly stores?: StoreTraits
}

/** Abilities of a transport that stores events. */
export interface StoringTraits extends Traits {
  readonly stores: StoreTraits
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
  /**
   * Reads data that are a whole message for Nest's client of this engine, over Kafka `{ key, value, headers }`.
   * `undefined`: the data are only data. Default: all data are.
   * @throws {OptionError} the message has a part that cannot be sent
   */
  nestMessageOf?(data: unknown): NestMessage | undefined
}

/** A whole message, as users of Nest write it in place of data. */
export interface NestMessage {
  readonly data: unknown
  readonly headers: MessageHeaders | undefined
}

/** A transport that stores events: its clients publish durable events. */
export interface StoringTransport extends Transport {
  readonly traits: StoringTraits
  /** The store alone, without calls: for the option `store` beside another transport. */
  readonly store: EventStore
}

/** A store of events. It carries no calls. */
export interface EventStore {
  /** The name, such as `'sqlite'`; the field `transport` of its messages and of its figures. */
  readonly name: string
  /** Abilities of the store. */
  readonly stores: StoreTraits
  /**
   * Makes the part of a service that runs its durable handlers. Its dispatcher has only the routes of durable handlers.
   * @throws {OptionError} an option is wrong for a service
   */
  server(context: ServerContext): ServerTransport
  /**
   * Makes the part of a client that publishes and manages events.
   * @throws {OptionError} an option is wrong for a client
   */
  client(context: ClientContext): StoreClient
}

/** The part of a client that publishes and manages events, with a connection of its own. */
export interface StoreClient extends DurableCaller {
  /** The name of the store. */
  readonly name: string
  readonly status: ClientStatus
  /** Passes all events of the connection to a listener from now on. Returns a function that removes the listener. */
  onStatus(listener: ConnectionListener): () => void
  /** Connects now; otherwise the first event that is published connects. Rejects with a `ConnectionError`. */
  connect(): Promise<void>
  /** Closes the connection; events that are not stored fail. Resolves when the connection is closed. */
  close(): Promise<void>
}

/** Context of a server, given by its service. */
export interface ServerContext {
  /** The name of the service; `undefined` if it has none. */
  readonly name: string | undefined
  /**
   * The name under which servers share messages: all services with this group count as one. Default: the name of the
   * service.
   */
  readonly group?: string | undefined
  /** The version of the service; `undefined` if it has none. */
  readonly version: string | undefined
  /**
   * The name of this process among the processes of the service. Default: the transport chooses a name if it needs one.
   */
  readonly instance?: string | undefined
  readonly logger: Logger
}

/** Context of a client, given by `connect()`. */
export interface ClientContext {
  readonly logger: Logger
  /** The name of the client. Default: the name of this process (`callerName`). */
  readonly name?: string | undefined
  /** Milliseconds for a call without its own timeout; 0 for no limit. */
  readonly timeout: number
  /**
   * Milliseconds for which a call without its own option may wait for a connection. Default: the timeout of the call.
   */
  readonly waitForConnection?: number | undefined
  /** Answers the server's calls to this client; `undefined` if there are no handlers. */
  readonly dispatcher: Dispatcher | undefined
}

/** Options of `stop()`. */
export interface StopOptions {
  /** Milliseconds that messages in flight may still take before connections are closed. Default: 10,000. */
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

/** The server of a transport. */
export interface ServerTransport {
  /** The name of the transport. */
  readonly name: string
  /**
   * The address at which the server listens, with the real port; `undefined` while it does not listen, and for engines.
   */
  readonly address?: Address | undefined
  /**
   * Starts to take messages. Can be called again after `stop`. A server that stores events keeps them for its groups from
   * now on, and hands out none before `begin`.
   * @param signal aborts when the start is not wanted any more: a server that is connecting to an engine then rejects at
   * once
   * @throws {ListenError} the server cannot listen
   * @throws {ConnectionError} the engine cannot be reached
   */
  start(dispatcher: Dispatcher, signal?: AbortSignal): Promise<void>
  /**
   * Hands out stored events from now on, because everything of the service has started. Until then the start may still
   * fail, and no event must have begun. May be called again; missing if the server stores no events.
   */
  begin?(): void
  /** Takes no new messages, waits for messages in flight, then closes. Resolves when everything is closed. */
  stop(options?: StopOptions): Promise<void>
  /** Returns current figures of the server. They cost nothing until `stats` is called. */
  stats(): TransportStats
  /** Whether the server stores events, for durable handlers. Default: false. */
  readonly isDurable?: boolean
  /** Whether a handler may write in the transaction that acknowledges its event. Default: false. */
  readonly hasTransactions?: boolean
  /**
   * Shares the address of this transport among several processes of one service. `undefined`: each process starts its
   * own server, as with an engine.
   */
  readonly sharing?: Sharing
}

/** A number and its limit. */
export interface Usage {
  readonly current: number
  /** The limit; `false` if there is none. */
  readonly limit: number | false
}

/**
 * Current figures of a server. Transports add further figures. Servers of several services that share their connections
 * return the same object in one turn of the event loop.
 */
export interface TransportStats {
  /** The name of the transport. */
  readonly transport: string
  readonly address: Address | undefined
  /** Requests, events and streams in flight, and their limit. */
  readonly inFlight: Usage
  /** Number of open streams. */
  readonly streams: number
  /**
   * Why a started server takes no messages at the moment, as text: the engine cannot be reached, or a stream or queue
   * there is missing. Missing while the server takes messages.
   */
  readonly unavailable?: string | undefined
  /** Figures of the durable handlers; missing if there are none. */
  readonly durable?: readonly DurableFigures[]
}

/**
 * Shares a transport among several processes of one service. Questions and places are sent as JSON, so `JSON.stringify`
 * must not change them.
 */
export interface Sharing {
  /**
   * In the supervisor, instead of `start`: reserves the address that the workers share. Resolves with the place that
   * each worker gets in `join`.
   * @param ask sends a question to all running workers
   * @throws {ListenError} the address is already in use
   * @throws {OptionError} the address cannot be shared
   */
  reserve(ask: (question: unknown) => Promise<void>): Promise<unknown>
  /** In the supervisor: returns the first question for a worker that has just started; `undefined` for none. */
  greeting(): unknown
  /** In the supervisor: frees the address, because no worker is left. */
  release(): void
  /**
   * In a worker, before `start`: takes its place.
   * @param place the place from `reserve`
   */
  join(place: unknown): void
  /** In a worker: carries out what a question of the supervisor asks for. */
  answer(question: unknown): Promise<void>
}

/** The client of a transport. It connects at the first call, and connects again after a lost connection. */
export interface ClientTransport extends Caller {
  /** The name of the transport. */
  readonly name: string
  readonly status: ClientStatus
  /** Publishes and manages durable events; `undefined` if the transport stores no events. */
  readonly durable?: DurableCaller | undefined
  /** Number of calls that have not ended; missing in clients of pages, which do not drain. */
  readonly inFlight?: number
  /** Fails calls that are made from now on, and leaves those in flight; missing in clients of pages. */
  refuse?(): void
  /** Passes all events of the client to a listener from now on. Returns a function that removes the listener. */
  onStatus(listener: ConnectionListener): () => void
  /** Connects now. Rejects with a `ConnectionError` if that fails. */
  connect(): Promise<void>
  /** Closes all connections; waiting calls fail with a `ConnectionError`. Resolves when all connections are closed. */
  close(): Promise<void>
}
