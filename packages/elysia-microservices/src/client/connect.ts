/** `connect()`: the client of a service. */
import {
  type Adapt,
  type AnyStore,
  adaptedCaller,
  adaptedPublish,
  type CallOptions,
  type Carrying,
  type ClientStatus,
  type ClientTransport,
  type CloseOptions,
  type CodecName,
  type ConnectionListener,
  checkedDefaults,
  checkLogger,
  checkRecurrence,
  checkScheduleName,
  checkTimes,
  consoleLogger,
  type DurableCaller,
  type DurableGroup,
  defaulting,
  drained,
  dropPlanned,
  durableGroup,
  type FromTable,
  type FutureEvents,
  INSIDE,
  type InsideClient,
  inTurn,
  type ListWaitingOptions,
  type Logger,
  loggerOf,
  type MessageHeaders,
  type Middleware,
  mustBeBoolean,
  mustBeFunction,
  mustBeMilliseconds,
  nameClient,
  noFuture,
  OptionError,
  type OptionTable,
  ownerOf,
  type Pattern,
  planNext,
  prefixOf,
  type Recurrence,
  readCallerName,
  readTable,
  type SentMessage,
  type StoreClient,
  type StoringTransport,
  storeOf,
  storesNothing,
  type Traits,
  type Transport,
  timeoutOf,
  tracedSent,
  type WaitingEvent,
  waitingOptions,
  wrapCaller,
  wrapPublish
} from '@elysia-microservices/transport/kit'
import { dispatcherOf } from '../service/dispatcher-of.ts'
import { followMessages, messageInHand } from '../service/handled-message.ts'
import { type ShortClientOptions, shortForm, strayOption } from '../short-form.ts'
import { Calls } from './calls.ts'
import type { Client, StoringClient, UntypedClient, UntypedStoringClient } from './client-types.ts'
import { checkForward, forwarding } from './forward.ts'
import { idempotently } from './idempotent.ts'
import type { Hidden, RepeatingOptions } from './known.ts'
import { Publishing } from './publishing.ts'

/** Options of every client, whichever transport carries its calls. */
export interface ClientOptions {
  /**
   * The client's name, which the client tells services once per connection. It is only for display, such as on the
   * page of `elysia-microservices dev`. 100 characters at most. Default: the name of the first service of this
   * process, if any.
   */
  readonly name?: string | undefined
  /**
   * Milliseconds within which the answer of a call, or the first value of its stream, must arrive; `false` for no limit.
   * Default: 30,000.
   */
  readonly timeout?: number | false | undefined
  /**
   * How many milliseconds of its timeout a call may wait for a connection. With 0 a call fails at once while there
   * is no connection, unless the first connection is being made. Behind HTTP use 1,000 or less; a gateway's default
   * is 1,000. Default: the timeout.
   */
  readonly waitForConnection?: number | undefined
  /**
   * Headers of all calls, or a function that returns them for each call, such as a token that changes. Headers of a
   * call are added, and take precedence; so do those of `client.with()`, which also satisfies a handler whose schema
   * demands headers. Default: none.
   */
  readonly headers?: MessageHeaders | (() => MessageHeaders) | undefined
  /** Middleware of all calls, the first one outermost. It can count and trace calls, or add headers. Default: none. */
  readonly wrap?: readonly Middleware<SentMessage>[] | undefined
  /**
   * Names of headers that are copied from the handled message to the calls that are made in its handler, such as
   * `['x-request-id']`. The headers of a call itself take precedence. Default: none.
   */
  readonly forward?: readonly string[] | undefined
  /**
   * Whether each call that is made in a handler of this process is made `within` its message, without a word: it gets no
   * more than the message's remaining time, and is cancelled with it. Work that goes on after its message needs a client
   * without this option. With such a client in a process, each message of its services runs in an asynchronous context,
   * which takes less than a microsecond. Default: true with `forward`, which forwards nothing otherwise, else false.
   */
  readonly inherit?: boolean | undefined
  /**
   * The service that answers calls from the server (RSocket only), which makes them with `callsTo(peer)`. It need not
   * listen. Default: none.
   */
  readonly service?: object | undefined
  /**
   * The store of events, beside the transport: a store such as `sqlite('events.db')`, or a transport that stores events,
   * of which only the store is used. Default: the transport, if it stores events.
   */
  readonly store?: AnyStore | undefined
  /** Called at each connection, connection attempt, ejection and retry. */
  readonly onStatus?: ConnectionListener | undefined
  /** Receives failures that no caller can be told of. Default: the console. */
  readonly logger?: Logger | undefined
}

/** Options of a client with a transport: `transport: tcp({ port: 4000 })`. */
export interface TransportClientOptions<Codec extends CodecName = 'json'> extends ClientOptions {
  /** The transport that carries the calls. */
  readonly transport: Transport & Carrying<Codec>
}

/** Options of a client with a transport that stores events: the client has `publish` and `group`. */
export interface StoringConnectOptions<Codec extends CodecName = 'json'> extends ClientOptions {
  /** The transport that carries the calls and stores events. */
  readonly transport: StoringTransport & Carrying<Codec>
}

/** Options of a client with a store beside its transport: the client has `publish` and `group`. */
export type StoreConnectOptions<Codec extends CodecName = 'json'> = ConnectOptions<Codec> & {
  readonly store: AnyStore
}

/** Options of a client over TCP in the short form: `port: 4000`. */
export interface TcpConnectOptions<Codec extends CodecName = 'json'>
  extends ClientOptions,
    ShortClientOptions<Codec> {}

/** Options of `connect()`. */
export type ConnectOptions<Codec extends CodecName = 'json'> =
  | TcpConnectOptions<Codec>
  | TransportClientOptions<Codec>

/** The codecs by which the same arrives. */
type LikeJson = 'json' | 'shapes'

/** The codec of gRPC, whose contracts have the types that arrive. */
type Protobuf = 'application/protobuf'

/** Options of `connect()` for a client with `publish` and `group`. */
type Stored<Codec extends CodecName> = StoringConnectOptions<Codec> | StoreConnectOptions<Codec>

/** All options of the client itself. */
export const CLIENT_OPTIONS = {
  name: {},
  timeout: { check: (_path, timeout) => checkTimes({ timeout }) },
  waitForConnection: { check: (_path, waitForConnection) => checkTimes({ waitForConnection }) },
  headers: {},
  wrap: { byDefault: [] },
  forward: { byDefault: [] },
  inherit: { check: mustBeBoolean },
  idempotent: { byDefault: [] },
  service: {},
  store: {},
  onStatus: { check: mustBeFunction },
  logger: { byDefault: consoleLogger, check: checkLogger }
} as const satisfies OptionTable<ClientOptions & RepeatingOptions>

const CLOSE_OPTIONS = {
  drain: { byDefault: 0, check: mustBeMilliseconds(0) }
} as const satisfies OptionTable<CloseOptions>

const NAMES: readonly string[] = [...Object.keys(CLIENT_OPTIONS), 'transport']

/**
 * Makes a client, which connects at the first call or at `client.connect()`. `connect<typeof service>()` gives the
 * client the types of the service's patterns.
 * @throws {OptionError} an option is invalid
 * @example
 * ```ts
 * import { connect } from 'elysia-microservices/client'
 *
 * const client = connect({ url: ['10.0.0.7:4000', '10.0.0.8:4000'], timeout: 5_000 })
 * const sum = await client.request<number>('math.sum', [1, 2, 3])
 * for await (const n of client.stream<number>('math.count', 3)) console.log(n, sum)
 * await client.close()
 * ```
 */
export function connect(options: Stored<CodecName> & RepeatingOptions): UntypedStoringClient
export function connect(options?: ConnectOptions<CodecName> & RepeatingOptions): UntypedClient
export function connect<Service>(
  options: Stored<LikeJson> & RepeatingOptions<Hidden<Service>>
): StoringClient<Service>
export function connect<Service>(
  options?: ConnectOptions<LikeJson> & RepeatingOptions<Hidden<Service>>
): Client<Service>
export function connect<Service>(
  options: Stored<'msgpack'> & RepeatingOptions<Hidden<Service>>
): StoringClient<Service, 'msgpack'>
export function connect<Service>(
  options: ConnectOptions<'msgpack'> & RepeatingOptions<Hidden<Service>>
): Client<Service, 'msgpack'>
export function connect<Service>(
  options: ConnectOptions<'bytes'> & RepeatingOptions<Hidden<Service>>
): Client<Service, 'bytes'>
export function connect<Service>(
  options: Stored<Protobuf> & RepeatingOptions<Hidden<Service>>
): StoringClient<Service, Protobuf>
export function connect<Service>(
  options: ConnectOptions<Protobuf> & RepeatingOptions<Hidden<Service>>
): Client<Service, Protobuf>
export function connect<Service>(
  options: Stored<CodecName> & RepeatingOptions<Hidden<Service>>
): StoringClient<Service, CodecName>
export function connect<Service>(
  options: ConnectOptions<CodecName> & RepeatingOptions<Hidden<Service>>
): Client<Service, CodecName>
export function connect(options: ConnectOptions<CodecName> & RepeatingOptions = {}): object {
  const { own, transport } = readOptions(options)
  const {
    name,
    timeout,
    waitForConnection,
    headers,
    wrap,
    forward,
    inherit = forward.length > 0,
    idempotent,
    service,
    onStatus,
    logger: given
  } = own
  const logger = loggerOf(given)
  if (name !== undefined && (name === '' || readCallerName(name) !== name))
    throw OptionError.expected('options.name', 'a text of 1 to 100 characters', name)
  if (name !== undefined) nameClient(name)
  if (!Array.isArray(wrap) || wrap.some((middleware) => typeof middleware !== 'function'))
    throw OptionError.expected('options.wrap', 'a list of functions, (next) => (call) => next(call)', wrap)
  checkForward(forward)
  if (inherit) followMessages()
  const adapt = inTurn([
    headers === undefined ? undefined : defaulting(checkedDefaults({ headers })),
    inherit ? inheriting : undefined,
    forwarding([...forward]),
    idempotently(idempotent),
    transport.traits.answerHeaders === true ? undefined : withoutAnswerHeaders(transport.name)
  ])
  const context = {
    logger,
    name,
    timeout: timeoutOf(timeout),
    waitForConnection,
    dispatcher: service === undefined ? undefined : dispatcherOf(service)
  }
  const store = own.store === undefined ? undefined : storeOf(own.store, [transport])
  const client = transport.client(context)
  const durable = store?.client({ ...context, dispatcher: undefined })
  if (onStatus !== undefined) for (const one of [client, durable]) one?.onStatus(onStatus)
  for (const middleware of wrap) middleware.attach?.(client)
  const traits = store === undefined ? transport.traits : { ...transport.traits, stores: store.stores }
  const traced = tracedSent(wrap, traits.shares === 'caller' ? client : undefined)
  return new TransportClient(client, durable, traits, traced, adapt)
}

/** Makes a call in a handler `within` its message, unless the call names one. */
function inheriting(options: CallOptions | undefined): CallOptions | undefined {
  if (options?.within !== undefined) return options
  const within = messageInHand()
  return within === undefined ? options : { ...options, within }
}

/** Refuses calls that ask for the headers of their answers, which the transport cannot carry. */
function withoutAnswerHeaders(transport: string): Adapt {
  return (options) => {
    if ((options?.onHeaders ?? options?.onTrailers) === undefined) return options
    throw new OptionError(
      'options.onHeaders',
      `${transport} cannot carry headers of an answer (options.onHeaders, options.onTrailers): put them into the answer`
    )
  }
}

function readOptions(options: ConnectOptions<CodecName>): {
  readonly own: FromTable<ClientOptions & RepeatingOptions, typeof CLIENT_OPTIONS>
  readonly transport: Transport
} {
  if (typeof options !== 'object' || options === null)
    throw OptionError.expected('options', 'an object of options', options)
  const entries = Object.entries(options).filter(([, value]) => value !== undefined)
  const isOwn = ([name]: [string, unknown]) => Object.hasOwn(CLIENT_OPTIONS, name)
  const own = readTable<ClientOptions & RepeatingOptions, typeof CLIENT_OPTIONS>(
    'options',
    Object.fromEntries(entries.filter(isOwn)),
    CLIENT_OPTIONS
  )
  const others = entries.filter((entry) => entry[0] !== 'transport' && !isOwn(entry))
  const { transport = 'tcp' } = options
  if (transport === 'tcp') return { own, transport: shortForm(Object.fromEntries(others), 'client', NAMES) }
  if (typeof Object(transport).client !== 'function' || typeof transport.traits !== 'object')
    throw OptionError.expected(
      'options.transport',
      "'tcp', or a transport such as tcp({ port: 4000 })",
      transport
    )
  const [unknown] = others
  if (unknown === undefined) return { own, transport }
  throw strayOption(unknown[0], 'a client', NAMES)
}

class TransportClient extends Calls implements UntypedStoringClient {
  readonly #transport: ClientTransport
  /** The store beside the transport; `undefined`: the transport stores events itself, or none. */
  readonly #store: StoreClient | undefined
  readonly #publishing: Publishing
  /** Abilities of the transport, and its store: for packages that build on this one, see `insideOf`. */
  readonly [INSIDE]: InsideClient

  constructor(
    transport: ClientTransport,
    store: StoreClient | undefined,
    traits: Traits,
    wrap: readonly Middleware<SentMessage>[],
    adapt?: Adapt
  ) {
    const { name } = transport
    const durable = store ?? transport.durable
    const publishing = new Publishing()
    const publish = durable
      ? wrapPublish(durable, wrap, store?.name ?? name)
      : () => Promise.reject(storesNothing(name))
    super(
      adaptedCaller(wrapCaller(transport, wrap, name), adapt),
      adaptedPublish(publishing.counted(publish), adapt)
    )
    this.#transport = transport
    this.#store = store
    this.#publishing = publishing
    this[INSIDE] = { traits, durable, engine: durable && (store?.name ?? name) }
  }

  get status(): ClientStatus {
    return this.#transport.status
  }

  onStatus(listener: ConnectionListener): () => void {
    const ends = [this.#transport.onStatus(listener), this.#store?.onStatus(listener)]
    return () => {
      for (const end of ends) end?.()
    }
  }

  async connect(): Promise<void> {
    await Promise.all([this.#transport.connect(), this.#store?.connect()])
  }

  async close(options?: CloseOptions): Promise<void> {
    const { drain } = readTable<CloseOptions, typeof CLOSE_OPTIONS>('options', options, CLOSE_OPTIONS)
    if (drain !== 0) {
      this.#transport.refuse?.()
      this.#publishing.refuse()
      await drained(() => (this.#transport.inFlight ?? 0) + this.#publishing.inFlight, drain)
    }
    await Promise.all([this.#transport.close(), this.#store?.close()])
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  cancel(pattern: Pattern, id: string): Promise<boolean> {
    return this.#future.cancel(pattern, id)
  }

  fire(pattern: Pattern, id: string): Promise<boolean> {
    return this.#future.fire(pattern, id)
  }

  waiting(options?: ListWaitingOptions): AsyncIterable<WaitingEvent> {
    return this.#future.list(waitingOptions(options))
  }

  async schedule(id: string, pattern: Pattern, data: unknown, every: Recurrence): Promise<Date | undefined> {
    const schedule = this.#scheduleOf(id, pattern)
    checkRecurrence('every', every)
    const store = this.#futureStore
    const planned = { ...schedule, every, dataOf: () => data }
    await dropPlanned(store, planned, prefixOf(planned))
    return planNext(store, planned)
  }

  async unschedule(id: string, pattern: Pattern): Promise<boolean> {
    return dropPlanned(this.#futureStore, this.#scheduleOf(id, pattern))
  }

  #scheduleOf(id: string, pattern: Pattern) {
    checkScheduleName('id', id)
    return { owner: ownerOf('schedule', id), pattern }
  }

  get #future(): FutureEvents {
    return this.#futureStore.future
  }

  /** @throws {OptionError} the store keeps no events until a time, or there is none */
  get #futureStore(): DurableCaller & { readonly future: FutureEvents } {
    const { durable } = this[INSIDE]
    const { name } = this.#transport
    if (durable === undefined) throw storesNothing(name)
    if (durable.future === undefined) throw noFuture(this.#store?.name ?? name)
    return durable as DurableCaller & { readonly future: FutureEvents }
  }

  group(name: string): DurableGroup {
    const { durable } = this[INSIDE]
    if (durable === undefined) throw storesNothing(this.#transport.name)
    return durableGroup(durable, name)
  }
}
