/**
 * The types of clients: for a service or a contract, or for any service; with `publish` and `group` if the client's
 * transport stores events.
 */
import type {
  CallDefaults,
  CallOptions,
  ClientStatus,
  CloseOptions,
  CodecName,
  ConnectionListener,
  DurableGroup,
  EmitOptions,
  ListWaitingOptions,
  MicroserviceError,
  Outcome,
  Pattern,
  Published,
  PublishOptions,
  Recurrence,
  WaitingEvent
} from '@elysia-microservices/transport'
import type { WayOf } from '../types/arriving.ts'
import type { EventsOf, MessagesOf } from '../types/carried.ts'
import type { CALLS } from '../types/carrying.ts'
import type { AsName } from '../types/pattern.ts'
import type { ColdObservable } from './cold-observable.ts'
import type {
  AnyKnown,
  ArgumentsIn,
  CallsIn,
  DeclaredFailure,
  Knowing,
  Knowledge,
  Knows,
  KnowsWithHeaders,
  MistakesIn,
  Named,
  NamesIn,
  PublishedIn,
  ValueIn
} from './known.ts'

/** The members of every client. */
interface Connected {
  /** Whether the client is connected; with several servers, to at least one of them. `onStatus` reports changes. */
  readonly status: ClientStatus
  /**
   * Calls a listener at each connection, connection attempt, ejection and retry. Returns the function that removes
   * the listener.
   */
  onStatus(listener: ConnectionListener): () => void
  /**
   * Connects now. Otherwise the first call connects.
   * @throws {ConnectionError} no server listens at the address
   */
  connect(): Promise<void>
  /**
   * Closes the client. Calls that still wait for an answer fail with a `ConnectionError`; with `{ drain: 5_000 }` they
   * have 5 s to end, while new calls fail. A closed client cannot be used again.
   */
  close(options?: CloseOptions): Promise<void>
  /** Closes the client at the end of a block: `await using client = connect()`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** Stored events, as an operator sees them. */
interface Storing {
  /**
   * A group of durable handlers: its dead letters, `pause()` and `resume()`.
   * @param name the name of the group, or of the service
   * @throws {OptionError} it is not a valid name of a group
   */
  group(name: string): DurableGroup
  /**
   * Deletes an event that waits for its time (`at` or `delay` of `publish`).
   * @returns true if it was still waiting: it will not be delivered
   * @throws {OptionError} the store keeps no events until a time
   */
  cancel(pattern: Pattern, id: string): Promise<boolean>
  /**
   * Delivers an event that waits for its time now.
   * @returns false if it was not waiting any more
   * @throws {OptionError} the store keeps no events until a time
   */
  fire(pattern: Pattern, id: string): Promise<boolean>
  /**
   * Lists events that wait for their time, the soonest first.
   * @throws {OptionError} the store keeps no events until a time
   */
  waiting(options?: ListWaitingOptions): AsyncIterable<WaitingEvent>
  /**
   * Publishes an event at all times of a rule, to every group, from now on. A schedule with the same id and pattern is
   * replaced. The next time waits in the store; the process that gets the event puts the one behind it there, so the
   * schedule ends if no group handles the pattern when a time comes.
   * @returns the next time; `undefined`: the rule has none
   * @throws {OptionError} the rule is wrong, `croner` is not installed, or the store keeps no events until a time
   */
  schedule(id: string, pattern: Pattern, data: unknown, every: Recurrence): Promise<Date | undefined>
  /**
   * Ends a schedule.
   * @returns whether its next time was still waiting
   * @throws {OptionError} the store keeps no events until a time
   */
  unschedule(id: string, pattern: Pattern): Promise<boolean>
}

/**
 * The calls of a client that knows its service. The interface has no type parameters, because editors would show
 * them.
 */
interface TypedCalls {
  /**
   * Makes a request and resolves to the value of the answer, or to `undefined` if the answer ends without a value.
   * @throws {RpcError} the handler failed; {@link PatternNotFoundError} if there is no handler
   * @throws {TimeoutError | CanceledError | ConnectionError} no answer came
   */
  request<const Given extends Pattern, Service extends AnyKnown>(
    this: Knowing<Service>,
    pattern: Named<Given, NamesIn<Service, 'values'>, MistakesIn<Service, 'values'>>,
    ...args: ArgumentsIn<CallsIn<Service, 'values'>, AsName<Given>, Service['key']>
  ): Promise<ValueIn<CallsIn<Service, 'values'>, AsName<Given>>>
  /** Returns all values of the answer, in order. Leaving the loop cancels the call. */
  stream<const Given extends Pattern, Service extends AnyKnown>(
    this: Knowing<Service>,
    pattern: Named<Given, NamesIn<Service, 'streams'>, MistakesIn<Service, 'streams'>>,
    ...args: ArgumentsIn<CallsIn<Service, 'streams'>, AsName<Given>, Service['key']>
  ): AsyncIterableIterator<ValueIn<CallsIn<Service, 'streams'>, AsName<Given>>>
  /** Sends an event. Resolves once the event is handed to a connected socket; an event has no answer. */
  emit<const Given extends Pattern, Service extends AnyKnown>(
    this: Knowing<Service>,
    pattern: Named<Given, NamesIn<Service, 'events'>, MistakesIn<Service, 'events'>>,
    ...args: ArgumentsIn<CallsIn<Service, 'events'>, AsName<Given>, Service['key']>
  ): Promise<void>
}

interface TypedSend {
  /**
   * Makes no call until somebody subscribes: returns a cold Observable, as in Nest. Each subscription makes a call, and
   * unsubscribing cancels it. `request` makes the call at once.
   */
  send<const Given extends Pattern, Service extends AnyKnown>(
    this: Knowing<Service>,
    pattern: Named<Given, NamesIn<Service, 'all'>, MistakesIn<Service, 'all'>>,
    ...args: ArgumentsIn<CallsIn<Service, 'all'>, AsName<Given>, Service['key']>
  ): ColdObservable<ValueIn<CallsIn<Service, 'all'>, AsName<Given>>>
}

interface TypedPublish {
  /**
   * Publishes an event. Resolves when the engine has stored the event. An event that is published again with the
   * same `id` is stored only once.
   * @throws {NotStoredError} the engine does not store the event
   * @throws {TimeoutError | CanceledError | ConnectionError} it is unknown whether the event is stored: publish it
   * again, with its `id`
   * @throws {OptionError} the transport stores no events
   */
  publish<const Given extends Pattern, Service extends AnyKnown>(
    this: Knowing<Service>,
    pattern: Named<Given, NamesIn<Service, 'events'>, MistakesIn<Service, 'published'>>,
    ...args: PublishedIn<CallsIn<Service, 'events'>, AsName<Given>, Service['key']>
  ): Promise<Published>
}

/** Calls without try and catch. */
interface TypedSafe {
  /**
   * As `request`, without try and catch: resolves to `{ data, error }`. `isError(error, code)` narrows to an error of
   * the contract, with the type of its `details`.
   */
  request<const Given extends Pattern, Service extends AnyKnown>(
    this: Knowing<Service>,
    pattern: Named<Given, NamesIn<Service, 'values'>, MistakesIn<Service, 'values'>>,
    ...args: ArgumentsIn<CallsIn<Service, 'values'>, AsName<Given>, Service['key']>
  ): Promise<
    Outcome<
      ValueIn<CallsIn<Service, 'values'>, AsName<Given>>,
      MicroserviceError | DeclaredFailure<CallsIn<Service, 'values'>, AsName<Given>>
    >
  >
  /** As `emit`, without try and catch: `error` is `null` if the event was sent. */
  emit<const Given extends Pattern, Service extends AnyKnown>(
    this: Knowing<Service>,
    pattern: Named<Given, NamesIn<Service, 'events'>, MistakesIn<Service, 'events'>>,
    ...args: ArgumentsIn<CallsIn<Service, 'events'>, AsName<Given>, Service['key']>
  ): Promise<Outcome<void>>
}

interface TypedSafePublish {
  /** As `publish`, without try and catch: `data` says what the engine has stored. */
  publish<const Given extends Pattern, Service extends AnyKnown>(
    this: Knowing<Service>,
    pattern: Named<Given, NamesIn<Service, 'events'>, MistakesIn<Service, 'published'>>,
    ...args: PublishedIn<CallsIn<Service, 'events'>, AsName<Given>, Service['key']>
  ): Promise<Outcome<Published>>
}

/**
 * The calls of a client with options of their own: what `client.with()` returns. The compiler does not demand headers
 * that a schema of the handler needs, because they may come from `with({ headers })` or from `forward`.
 */
export interface CallsTo<Service, Codec extends CodecName = 'json'>
  extends TypedCalls,
    TypedSend,
    KnowsWithHeaders<Service, Codec> {
  /** Calls without try and catch, which resolve to `{ data, error }`. */
  readonly safe: TypedSafe & KnowsWithHeaders<Service, Codec>
  /** Calls with further options. @throws {OptionError} an option is invalid */
  with(defaults: CallDefaults): CallsTo<Service, Codec>
}

/** As {@link CallsTo}, of a client whose transport stores events. */
export interface StoringCallsTo<Service, Codec extends CodecName = 'json'>
  extends CallsTo<Service, Codec>,
    TypedPublish {
  readonly safe: TypedSafe & TypedSafePublish & KnowsWithHeaders<Service, Codec>
  with(defaults: CallDefaults): StoringCallsTo<Service, Codec>
}

/** A client with the types of a service's patterns. */
export interface Client<Service, Codec extends CodecName = 'json'>
  extends TypedCalls,
    TypedSend,
    Connected,
    Knows<Service, Codec> {
  /** Calls without try and catch, which resolve to `{ data, error }`. */
  readonly safe: TypedSafe & Knows<Service, Codec>
  /**
   * Calls with headers, a timeout, a signal or the handled message, which then need not be passed with each call.
   * @throws {OptionError} an option is invalid
   * @example
   * ```ts
   * import { connect } from 'elysia-microservices/client'
   *
   * const client = connect({ port: 4000 })
   * const mine = client.with({ headers: { authorization: 'Bearer …' }, timeout: 2_000 })
   * const me = await mine.request('whoami')
   * ```
   */
  with(defaults: CallDefaults): CallsTo<Service, Codec>
  /** Exists only in the type: makes the clients of two services incompatible. Has no value at run time. */
  readonly [CALLS]?: {
    readonly messages: Knowledge<Service, WayOf<Codec>>['all']
    readonly events: Knowledge<Service, WayOf<Codec>>['events']
  }
}

/** As {@link Client}, with a transport that stores events: with `publish` and `group`. */
export interface StoringClient<Service, Codec extends CodecName = 'json'>
  extends Client<Service, Codec>,
    Storing,
    TypedPublish {
  readonly safe: TypedSafe & TypedSafePublish & Knows<Service, Codec>
  with(defaults: CallDefaults): StoringCallsTo<Service, Codec>
}

/**
 * The client of a service, from the type of the service (`ClientOf<typeof orders>`) or from a contract: an interface of
 * methods and events (`ClientOf<OrdersContract>`). It has `publish` and `group` if the service has durable handlers; a
 * contract does not say so: take `StoringClient<OrdersContract>`.
 * @example
 * ```ts
 * import { microservice } from 'elysia-microservices'
 * import { type ClientOf, connect } from 'elysia-microservices/client'
 *
 * const orders = microservice({ transport: 'tcp' }).message('orders.count', () => 7)
 *
 * class Report {
 *   constructor(readonly client: ClientOf<typeof orders>) {}
 * }
 * new Report(connect<typeof orders>({ port: 4000 }))
 * ```
 */
export type ClientOf<Service, Codec extends CodecName = 'json'> =
  true extends IsDurable<EventsOf<Service>> ? StoringClient<Service, Codec> : Client<Service, Codec>

/** The events that are known to be durable: a contract does not know. */
type IsDurable<Events> = {
  readonly [Name in keyof Events]: Events[Name] extends { readonly '~durable'?: infer Durable }
    ? unknown extends Durable
      ? false
      : Durable
    : false
}[keyof Events]

/** Calls without try and catch, of a client for any service. */
export interface UntypedSafe {
  /** See `safe.request` of {@link Client}. */
  request<Value = unknown>(pattern: Pattern, data?: unknown, options?: CallOptions): Promise<Outcome<Value>>
  /** See `safe.emit` of {@link Client}. */
  emit(pattern: Pattern, data?: unknown, options?: EmitOptions): Promise<Outcome<void>>
}

/** As {@link UntypedSafe}, of a client whose transport stores events. */
export interface UntypedStoringSafe extends UntypedSafe {
  /** See `safe.publish` of {@link StoringClient}. */
  publish(pattern: Pattern, data?: unknown, options?: PublishOptions): Promise<Outcome<Published>>
}

/** Calls of any service. The methods accept patterns of every kind, and the caller states the type of the answer. */
export interface UntypedCalls {
  /** See {@link Client.request}. */
  request<Value = unknown>(pattern: Pattern, data?: unknown, options?: CallOptions): Promise<Value>
  /** See {@link Client.stream}. */
  stream<Value = unknown>(
    pattern: Pattern,
    data?: unknown,
    options?: CallOptions
  ): AsyncIterableIterator<Value>
  /** See {@link Client.emit}. */
  emit(pattern: Pattern, data?: unknown, options?: EmitOptions): Promise<void>
  /** See {@link Client.send}. */
  send<Value = unknown>(pattern: Pattern, data?: unknown, options?: CallOptions): ColdObservable<Value>
  /** See {@link Client.safe}. */
  readonly safe: UntypedSafe
  /** See {@link Client.with}. */
  with(defaults: CallDefaults): UntypedCalls
}

/** As {@link UntypedCalls}, of a client whose transport stores events. */
export interface UntypedStoringCalls extends UntypedCalls {
  /** See {@link StoringClient.publish}. */
  publish(pattern: Pattern, data?: unknown, options?: PublishOptions): Promise<Published>
  readonly safe: UntypedStoringSafe
  with(defaults: CallDefaults): UntypedStoringCalls
}

/** A client for any service. */
export interface UntypedClient extends UntypedCalls, Connected {}

/** A client for any service, with a transport that stores events. */
export interface UntypedStoringClient extends UntypedStoringCalls, Connected, Storing {}

/**
 * The errors of calls of one pattern: those of its contract, and those that every call may fail with. Use this type
 * for functions that take such an error, and for errors that a stream has thrown.
 * @example
 * ```ts
 * import { t } from 'elysia'
 * import { memory, microservice } from 'elysia-microservices'
 * import { type ErrorOf, isError } from 'elysia-microservices/client'
 *
 * const stock = microservice({ transport: memory() })
 *   .message('take', ({ fail }) => fail('OUT_OF_STOCK', { left: 3 }), {
 *     errors: { OUT_OF_STOCK: t.Object({ left: t.Number() }) }
 *   })
 * const told = (error: ErrorOf<typeof stock, 'take'>) =>
 *   isError(error, 'OUT_OF_STOCK') ? `${error.details.left} left` : error.message
 * ```
 */
export type ErrorOf<Service, Name extends keyof MessagesOf<Service>> =
  | MicroserviceError
  | DeclaredFailure<MessagesOf<Service>, Name>
