/** The types of clients: a typed client made from the type of a service, and an untyped client for any service. */
import type {
  CallOptions,
  ClientStatus,
  ConnectionListener,
  DurableCaller,
  EmitOptions,
  MicroserviceError,
  Pattern,
  Published,
  PublishOptions,
  Traits
} from '@elysia-microservices/transport'
import type { Observable } from 'rxjs'
import type { AnswersOf, EventsOf, MessagesOf, UnexposedOf } from '../types/carried.ts'
import type { FailuresOf } from '../types/errors.ts'
import type { ObjectName, ObjectOf } from '../types/pattern.ts'
import type { EventType, MessageType } from '../types/service.ts'

/** The members of both kinds of client, typed and untyped. */
interface ClientBase {
  /** Whether the client is connected; with several servers, to at least one of them. `onStatus` reports changes. */
  readonly status: ClientStatus
  /** The abilities of the client's transport. */
  readonly traits: Traits
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
  /** The store behind `deadLetters`, `pauseGroup` and `resumeGroup`; `undefined` if the transport stores no events. */
  readonly durable?: DurableCaller | undefined
  /**
   * Closes the client. Calls that still wait for an answer fail with a `ConnectionError`. A closed client cannot be
   * used again.
   */
  close(): Promise<void>
}

/**
 * The data that a caller may pass. If the handler takes an async iterable, the caller may pass any kind of stream
 * of the same values.
 */
export type Input<Data> =
  Data extends AsyncIterable<infer Value> ? AsyncIterable<Value> | Observable<Value> | Generator<Value> : Data

/** Headers as the caller passes them: texts, even if the schema of the handler decodes them to another type. */
type HeaderInput<Headers> = {
  readonly [Name in keyof Headers]: Headers[Name] extends string | undefined ? Headers[Name] : string
} & { readonly [name: string]: string | undefined }

/** The options of a call, with the headers that its handler needs. */
type WithHeaders<Options, Headers> = unknown extends Headers
  ? Options
  : Omit<Options, 'headers'> &
      (Record<never, never> extends Headers
        ? { readonly headers?: HeaderInput<Headers> }
        : { readonly headers: HeaderInput<Headers> })

/** The arguments that follow the pattern. Data and options that the handler does not need may be left out. */
type Arguments<Data, Headers, Options> =
  Record<never, never> extends WithHeaders<Options, Headers>
    ? undefined extends Data
      ? [data?: Input<Data>, options?: WithHeaders<Options, Headers>]
      : [data: Input<Data>, options?: WithHeaders<Options, Headers>]
    : [data: Input<Data>, options: WithHeaders<Options, Headers>]

/** The types of calls of one pattern. */
interface CallType<Data, Headers, Value, Options, Errors = unknown> {
  readonly data: Data
  readonly args: Arguments<Data, Headers, Options>
  readonly headers: Headers
  readonly value: Value
  readonly errors: Errors
}

/** The types of an event that is sent or published. */
interface EventCallType<Data, Headers> extends CallType<Data, Headers, void, EmitOptions> {
  readonly published: Arguments<Data, Headers, PublishOptions>
}

/**
 * The types of calls of all patterns of a service. This map is computed once, by pattern name. If the methods'
 * types named the service instead, the compiler would go through the whole service for each method.
 */
type Calls<Types> = {
  readonly [Name in keyof Types]: Types[Name] extends MessageType<
    infer Data,
    infer Value,
    infer _S,
    infer Headers,
    infer Errors
  >
    ? CallType<Data, Headers, Value, CallOptions, Errors>
    : never
}

/** The types of all events of a service. */
type Emits<Types> = {
  readonly [Name in keyof Types]: Types[Name] extends EventType<infer Data, infer Headers>
    ? EventCallType<Data, Headers>
    : never
}

/** A pattern as a name in the type of a service, or as the object of which the name is the text. */
export type AsPattern<Name> = Name | ObjectOf<Name>

/** The sentence that the compiler shows if a pattern belongs to another method. */
interface Mistake<Names, Sentence> {
  readonly names: Names
  readonly sentence: Sentence
}

/** The sentence of the mistake that names the given pattern; `never` if no mistake does. */
type SentenceFor<Given, Mistakes> =
  Mistakes extends Mistake<infer Names, infer Sentence>
    ? Given extends AsPattern<Names>
      ? Sentence
      : never
    : never

/**
 * The pattern that a method accepts: one of its own patterns. For another pattern the compiler says which method to
 * use, or which patterns there are.
 */
type Named<Given, Names, Mistakes> = [Given] extends [AsPattern<Names>]
  ? Given
  : [SentenceFor<Given, Mistakes>] extends [never]
    ? [Names] extends [never]
      ? 'The type has no such patterns; patterns of controller classes need a contract: connect<Contract>()'
      : AsPattern<Names>
    : SentenceFor<Given, Mistakes>

/** The name of the pattern that a caller passes. */
type AsName<Given> = Given extends object ? ObjectName<Given> : Given

/** The types of calls of the pattern that a caller passes. */
export type CallOf<Types, Given> = Types[AsName<Given> & keyof Types]

/**
 * The arguments that follow the pattern. While the user is still typing, the pattern is any text, so the arguments
 * are unknown.
 */
type ArgumentsIn<Types, Name> = string extends Name
  ? unknown[]
  : Types[Name & keyof Types] extends { readonly args: infer Args extends unknown[] }
    ? Args
    : never

/** The arguments that follow the pattern of an event that is published. */
type PublishedIn<Types, Name> = string extends Name
  ? unknown[]
  : Types[Name & keyof Types] extends { readonly published: infer Args extends unknown[] }
    ? Args
    : never

/** The value of the answer. */
type ValueIn<Types, Name> = Types[Name & keyof Types] extends { readonly value: infer Value } ? Value : never

/** The outcome of a call: the value of its answer, or the error. */
export type Outcome<Value, Failure = MicroserviceError> =
  | { readonly value: Value; readonly error: undefined }
  | { readonly value: undefined; readonly error: Failure }

/** The errors that a pattern declares, and the errors that every call may fail with. */
type FailureIn<Types, Name> =
  | MicroserviceError
  | (Types[Name & keyof Types] extends { readonly errors: infer Errors } ? FailuresOf<Errors> : never)

/**
 * The types that a client knows of its service. Each field is computed once. The interface has the service as its
 * only parameter, because the compiler goes through all parameters wherever it passes this type on.
 */
interface Knowledge<Service> {
  readonly values: Calls<AnswersOf<Service>['values']>
  readonly streams: Calls<AnswersOf<Service>['streams']>
  readonly all: Calls<MessagesOf<Service>>
  readonly events: Emits<EventsOf<Service>>
  /** Only names, which the compiler can pass on at no cost. */
  readonly names: Names<Service>
  /** The sentences that the compiler shows if a method gets a pattern of another kind. */
  readonly mistakes: Mistakes<Names<Service>>
}

interface Names<Service> {
  readonly values: keyof AnswersOf<Service>['values']
  readonly streams: keyof AnswersOf<Service>['streams']
  readonly all: keyof MessagesOf<Service>
  readonly events: keyof EventsOf<Service>
  readonly unexposed: UnexposedOf<Service>
}

interface Mistakes<All extends Readonly<Record<Kind | 'unexposed', unknown>>> {
  readonly values: NotOfStreams<All['streams']> | NotOfEvents<All['events']> | Unexposed<All['unexposed']>
  readonly streams: NotOfValues<All['values']> | NotOfEvents<All['events']> | Unexposed<All['unexposed']>
  readonly all: NotOfEvents<All['events']>
  readonly events: NotOfValues<All['values']> | NotOfStreams<All['streams']> | Unexposed<All['unexposed']>
  readonly published: Mistake<All['all'], 'This pattern is not an event: only events can be published'>
}
type NotOfValues<Names> = Mistake<Names, "This pattern answers with one value: use 'request' or 'send'">
type NotOfStreams<Names> = Mistake<Names, "This pattern answers with a stream: use 'stream' or 'send'">
type NotOfEvents<Names> = Mistake<Names, "This pattern is an event: use 'emit'">
type Unexposed<Names> = Mistake<Names, 'This pattern is not exposed: websocket({ expose }) does not name it'>

/** The types of calls of the patterns of one kind; `unknown` for a client without types. */
export type CallsOf<Service, One extends Kind> = unknown extends Service ? unknown : Knowledge<Service>[One]

type Kind = 'values' | 'streams' | 'all' | 'events'

interface AnyKnowledge extends Readonly<Record<Kind, unknown>> {
  readonly names: Readonly<Record<Kind, unknown>>
  readonly mistakes: Readonly<Record<Kind | 'published', unknown>>
}

/**
 * Keeps types out of what editors show. No value can be `Never`, so the compiler leaves this part out when it
 * prints the type, and prints only `'…'`.
 */
type Hidden<Types> = '…' | Never<Types>
/** A type without values, because its two sides contradict each other. */
type Never<Types> = { readonly '~shown': false; readonly types: Types } & { readonly '~shown': true }

/** The types that a client knows, behind a short type for editors. */
interface Known<All> {
  readonly types: [All] extends [Hidden<infer Types extends AnyKnowledge>] ? Types : never
}

interface AnyKnown {
  readonly types: AnyKnowledge
}

/**
 * A client from whose type a method infers `Known`. At each call of a generic method the compiler goes through all
 * types that its signature names, but not through a type that it infers. If the signatures named `Values`, the
 * calls of n patterns would cost the compiler the square of n.
 */
interface Knowing<Known> {
  readonly '~known'?: Known
}

/** The types of calls of the patterns of one kind, their names, and the sentences for patterns of other kinds. */
type CallsIn<Service extends AnyKnown, One extends Kind> = Service['types'][One]
type NamesIn<Service extends AnyKnown, One extends Kind> = Service['types']['names'][One]
type MistakesIn<Service extends AnyKnown, One extends Kind | 'published'> = Service['types']['mistakes'][One]

/**
 * The calls of a client that knows its service. The interface has no type parameters, because editors would show
 * them.
 */
interface TypedClient extends ClientBase {
  /**
   * Makes a request and resolves to the value of the answer, or to `undefined` if the answer ends without a value.
   * @throws {RpcError} the handler failed; {@link PatternNotFoundError} if there is no handler
   * @throws {TimeoutError | CanceledError | ConnectionError} no answer came
   */
  request<const Given extends Pattern, Service extends AnyKnown>(
    this: Knowing<Service>,
    pattern: Named<Given, NamesIn<Service, 'values'>, MistakesIn<Service, 'values'>>,
    ...args: ArgumentsIn<CallsIn<Service, 'values'>, AsName<Given>>
  ): Promise<ValueIn<CallsIn<Service, 'values'>, AsName<Given>>>
  /**
   * As {@link Client.request}, without try and catch: resolves to the value, or to the error with which `request`
   * would reject. `isError(error, code)` narrows to an error of the contract, with the type of its `details`.
   */
  safeRequest<const Given extends Pattern, Service extends AnyKnown>(
    this: Knowing<Service>,
    pattern: Named<Given, NamesIn<Service, 'values'>, MistakesIn<Service, 'values'>>,
    ...args: ArgumentsIn<CallsIn<Service, 'values'>, AsName<Given>>
  ): Promise<
    Outcome<
      ValueIn<CallsIn<Service, 'values'>, AsName<Given>>,
      FailureIn<CallsIn<Service, 'values'>, AsName<Given>>
    >
  >
  /** Returns a cold Observable, as in Nest: each subscription makes a call, and unsubscribing cancels the call. */
  send<const Given extends Pattern, Service extends AnyKnown>(
    this: Knowing<Service>,
    pattern: Named<Given, NamesIn<Service, 'all'>, MistakesIn<Service, 'all'>>,
    ...args: ArgumentsIn<CallsIn<Service, 'all'>, AsName<Given>>
  ): Observable<ValueIn<CallsIn<Service, 'all'>, AsName<Given>>>
  /** Returns all values of the answer, in order. Leaving the loop cancels the call. */
  stream<const Given extends Pattern, Service extends AnyKnown>(
    this: Knowing<Service>,
    pattern: Named<Given, NamesIn<Service, 'streams'>, MistakesIn<Service, 'streams'>>,
    ...args: ArgumentsIn<CallsIn<Service, 'streams'>, AsName<Given>>
  ): AsyncIterableIterator<ValueIn<CallsIn<Service, 'streams'>, AsName<Given>>>
  /** Sends an event. Resolves once the event is handed to a connected socket; an event has no answer. */
  emit<const Given extends Pattern, Service extends AnyKnown>(
    this: Knowing<Service>,
    pattern: Named<Given, NamesIn<Service, 'events'>, MistakesIn<Service, 'events'>>,
    ...args: ArgumentsIn<CallsIn<Service, 'events'>, AsName<Given>>
  ): Promise<void>
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
    ...args: PublishedIn<CallsIn<Service, 'events'>, AsName<Given>>
  ): Promise<Published>
}

/** A client with the types of a service's patterns. */
export interface Client<Service> extends TypedClient, Knowing<Known<Hidden<Knowledge<Service>>>> {
  /** Exists only in the type: makes the clients of two services incompatible. Has no value at run time. */
  readonly '~calls'?: {
    readonly messages: Knowledge<Service>['all']
    readonly events: Knowledge<Service>['events']
  }
}

/**
 * A client for any service. Its methods accept patterns of every kind, and the caller states the type of the
 * answer.
 */
export interface UntypedClient extends ClientBase {
  /** See {@link Client.request}. */
  request<Value = unknown>(pattern: Pattern, data?: unknown, options?: CallOptions): Promise<Value>
  /** See {@link Client.safeRequest}. */
  safeRequest<Value = unknown>(
    pattern: Pattern,
    data?: unknown,
    options?: CallOptions
  ): Promise<Outcome<Value>>
  /** See {@link Client.send}. */
  send<Value = unknown>(pattern: Pattern, data?: unknown, options?: CallOptions): Observable<Value>
  /** See {@link Client.stream}. */
  stream<Value = unknown>(
    pattern: Pattern,
    data?: unknown,
    options?: CallOptions
  ): AsyncIterableIterator<Value>
  /** See {@link Client.emit}. */
  emit(pattern: Pattern, data?: unknown, options?: EmitOptions): Promise<void>
  /** See {@link Client.publish}. */
  publish(pattern: Pattern, data?: unknown, options?: PublishOptions): Promise<Published>
}

/**
 * The client of a service, from the type of the service (`ClientOf<typeof orders>`) or from a contract: an interface of
 * methods and events (`ClientOf<OrdersContract>`).
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
export type ClientOf<Service> = Client<Service>

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
export type ErrorOf<Service, Name extends keyof MessagesOf<Service>> = FailureIn<MessagesOf<Service>, Name>
