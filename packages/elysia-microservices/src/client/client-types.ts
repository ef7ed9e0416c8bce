/** The types of clients: a typed one from the type of a service, and one for services without types. */
import type {
  CallOptions,
  ClientListener,
  ClientStatus,
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
  /** Whether it is connected; with several servers, to at least one. `onEvent` tells of changes. */
  readonly status: ClientStatus
  /** The abilities of its transport. */
  readonly traits: Traits
  /** Tells a listener of connections, attempts, ejections and retries. Returns the function that ends it. */
  onEvent(listener: ClientListener): () => void
  /**
   * Connects now. Without it, the first call connects.
   * @throws {ConnectionError} nobody listens there
   */
  connect(): Promise<void>
  /** The store behind `deadLetters`, `pauseGroup` and `resumeGroup`; `undefined`: the transport stores no events. */
  readonly durable?: DurableCaller | undefined
  /** Closes; calls that still wait fail with a `ConnectionError`. A closed client cannot be used again. */
  close(): Promise<void>
}

/** The data that a caller may give. For a handler that takes an async iterable, it is any stream of its values. */
export type Input<Data> =
  Data extends AsyncIterable<infer Value> ? AsyncIterable<Value> | Observable<Value> | Generator<Value> : Data

/** Headers as they travel: texts, which the schema may decode. */
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

/** The arguments after the pattern. Data and options that the handler does not need may be left out. */
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
 * The types of calls of all patterns of a service. Worked out once, by name: if the methods' types named the service,
 * the compiler would go through all of it for each of them.
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

/** A name in the type of a service, or the object it is the text of. */
export type AsPattern<Name> = Name | ObjectOf<Name>

/** The sentence that the compiler shows for patterns of another method. */
interface Mistake<Names, Sentence> {
  readonly names: Names
  readonly sentence: Sentence
}

/** The sentence for a pattern that one of the mistakes is about; `never` if none is. */
type SentenceFor<Given, Mistakes> =
  Mistakes extends Mistake<infer Names, infer Sentence>
    ? Given extends AsPattern<Names>
      ? Sentence
      : never
    : never

/**
 * The pattern that a method is given: one of its own; else the compiler says which method it is for, or which patterns
 * there are.
 */
type Named<Given, Names, Mistakes> = [Given] extends [AsPattern<Names>]
  ? Given
  : [SentenceFor<Given, Mistakes>] extends [never]
    ? [Names] extends [never]
      ? 'The type has no such patterns; those of classes come by a contract: connect<Contract>()'
      : AsPattern<Names>
    : SentenceFor<Given, Mistakes>

/** The name for the pattern a caller gives. */
type AsName<Given> = Given extends object ? ObjectName<Given> : Given

/** The types of calls of the pattern that a caller gives. */
export type CallOf<Types, Given> = Types[AsName<Given> & keyof Types]

/** The arguments after the pattern. While a pattern is being written it is any text, and no argument is known. */
type ArgumentsIn<Types, Name> = string extends Name
  ? unknown[]
  : Types[Name & keyof Types] extends { readonly args: infer Args extends unknown[] }
    ? Args
    : never

/** The arguments after the pattern of an event that is published. */
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

/** The errors of a pattern, and what may go wrong with every call. */
type FailureIn<Types, Name> =
  | MicroserviceError
  | (Types[Name & keyof Types] extends { readonly errors: infer Errors } ? FailuresOf<Errors> : never)

/**
 * The types that a client knows of its service. Each part is a field, which is worked out once, and takes the service
 * alone, of which the compiler goes through the least wherever it passes types on.
 */
interface Knowledge<Service> {
  readonly values: Calls<AnswersOf<Service>['values']>
  readonly streams: Calls<AnswersOf<Service>['streams']>
  readonly all: Calls<MessagesOf<Service>>
  readonly events: Emits<EventsOf<Service>>
  /** Names alone, which are passed on at no cost. */
  readonly names: Names<Service>
  /** The sentences that the compiler shows where a method is given a pattern of another kind. */
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
  readonly published: Mistake<All['all'], 'This pattern is no event: only events are published'>
}
type NotOfValues<Names> = Mistake<Names, "This pattern answers with one value: use 'request' or 'send'">
type NotOfStreams<Names> = Mistake<Names, "This pattern answers with a stream: use 'stream' or 'send'">
type NotOfEvents<Names> = Mistake<Names, "This pattern is an event: use 'emit'">
type Unexposed<Names> = Mistake<Names, 'This pattern is not exposed: websocket({ expose }) does not name it'>

/** The types of calls of the patterns of one kind; `unknown` of a client without types. */
export type CallsOf<Service, One extends Kind> = unknown extends Service ? unknown : Knowledge<Service>[One]

type Kind = 'values' | 'streams' | 'all' | 'events'

interface AnyKnowledge extends Readonly<Record<Kind, unknown>> {
  readonly names: Readonly<Record<Kind, unknown>>
  readonly mistakes: Readonly<Record<Kind | 'published', unknown>>
}

/**
 * Types that editors do not show. Nothing can be `Never`, so that the compiler leaves that part out where it writes the
 * type down, and what is left is a mark.
 */
type Hidden<Types> = '…' | Never<Types>
/** Its two sides contradict each other. */
type Never<Types> = { readonly '~shown': false; readonly types: Types } & { readonly '~shown': true }

/** The types that a client knows, behind a type that editors show in few words. */
interface Known<All> {
  readonly types: [All] extends [Hidden<infer Types extends AnyKnowledge>] ? Types : never
}

interface AnyKnown {
  readonly types: AnyKnowledge
}

/**
 * A client from which a method infers what it knows. The compiler goes through all of a type that stands in a generic
 * method at each call, but not through one that it infers: with `Values` in the methods, a call of each of n patterns
 * would cost it the square of n.
 */
interface Knowing<Known> {
  readonly '~known'?: Known
}

/** The types of calls of the patterns of one kind; their names; the sentences for patterns of other kinds. */
type CallsIn<Service extends AnyKnown, One extends Kind> = Service['types'][One]
type NamesIn<Service extends AnyKnown, One extends Kind> = Service['types']['names'][One]
type MistakesIn<Service extends AnyKnown, One extends Kind | 'published'> = Service['types']['mistakes'][One]

/** The calls of a client that knows its service. In an interface without parameters, which editors would show. */
interface TypedClient extends ClientBase {
  /**
   * Asks once and gives the value of the answer; `undefined` if it ends without one.
   * @throws {RpcError} the handler failed; {@link PatternNotFoundError} if there is no handler
   * @throws {TimeoutError | CanceledError | ConnectionError} no answer came
   */
  request<const Given extends Pattern, Service extends AnyKnown>(
    this: Knowing<Service>,
    pattern: Named<Given, NamesIn<Service, 'values'>, MistakesIn<Service, 'values'>>,
    ...args: ArgumentsIn<CallsIn<Service, 'values'>, AsName<Given>>
  ): Promise<ValueIn<CallsIn<Service, 'values'>, AsName<Given>>>
  /**
   * As {@link Client.request}, without try and catch: gives the value, or the error that `request` would reject with.
   * `isError(error, code)` narrows to an error of the contract, with the type of its `details`.
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
  /** A cold Observable, as in Nest: each subscription makes a call, unsubscribing gives it up. */
  send<const Given extends Pattern, Service extends AnyKnown>(
    this: Knowing<Service>,
    pattern: Named<Given, NamesIn<Service, 'all'>, MistakesIn<Service, 'all'>>,
    ...args: ArgumentsIn<CallsIn<Service, 'all'>, AsName<Given>>
  ): Observable<ValueIn<CallsIn<Service, 'all'>, AsName<Given>>>
  /** All values of the answer, in order. Leaving the loop gives the call up. */
  stream<const Given extends Pattern, Service extends AnyKnown>(
    this: Knowing<Service>,
    pattern: Named<Given, NamesIn<Service, 'streams'>, MistakesIn<Service, 'streams'>>,
    ...args: ArgumentsIn<CallsIn<Service, 'streams'>, AsName<Given>>
  ): AsyncIterableIterator<ValueIn<CallsIn<Service, 'streams'>, AsName<Given>>>
  /** Sends an event. Resolves once it is handed to the connected socket; nobody answers an event. */
  emit<const Given extends Pattern, Service extends AnyKnown>(
    this: Knowing<Service>,
    pattern: Named<Given, NamesIn<Service, 'events'>, MistakesIn<Service, 'events'>>,
    ...args: ArgumentsIn<CallsIn<Service, 'events'>, AsName<Given>>
  ): Promise<void>
  /**
   * Publishes an event. Resolves when the engine has stored it; with the same `id` again, it is stored once.
   * @throws {NotStoredError} the engine does not store it
   * @throws {TimeoutError | CanceledError | ConnectionError} it is not known whether it is stored: publish it again, with
   *   its `id`
   * @throws {OptionError} the transport stores no events
   */
  publish<const Given extends Pattern, Service extends AnyKnown>(
    this: Knowing<Service>,
    pattern: Named<Given, NamesIn<Service, 'events'>, MistakesIn<Service, 'published'>>,
    ...args: PublishedIn<CallsIn<Service, 'events'>, AsName<Given>>
  ): Promise<Published>
}

/** A client that knows the patterns of its service. */
export interface Client<Service> extends TypedClient, Knowing<Known<Hidden<Knowledge<Service>>>> {
  /** Carries types, so that the client of another service does not fit; has no value. */
  readonly '~calls'?: {
    readonly messages: Knowledge<Service>['all']
    readonly events: Knowledge<Service>['events']
  }
}

/** A client for any service: it takes patterns of every kind, and the caller says which type the answer has. */
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
 * The errors of calls of one pattern: those of its contract, and those that every call may fail with.
 * For functions that take such an error, and for what a stream has thrown.
 * @example
 * ```ts
 * import { t } from 'elysia'
 * import { memory, microservice } from 'elysia-microservices'
 * import { type ErrorOf, isError } from 'elysia-microservices/client'
 *
 * const stock = microservice({ transport: memory() })
 *   .message('take', ({ error }) => error('OUT_OF_STOCK', { left: 3 }), {
 *     errors: { OUT_OF_STOCK: t.Object({ left: t.Number() }) }
 *   })
 * const told = (error: ErrorOf<typeof stock, 'take'>) =>
 *   isError(error, 'OUT_OF_STOCK') ? `${error.details.left} left` : error.message
 * ```
 */
export type ErrorOf<Service, Name extends keyof MessagesOf<Service>> = FailureIn<MessagesOf<Service>, Name>
