/**
 * The types that a client knows of its service, in the form that costs the compiler least. Editors show none of them.
 */
import type {
  CallOptions,
  DeclaredError,
  EmitOptions,
  Pattern,
  PublishOptions
} from '@elysia-microservices/transport'
import type { Observable } from 'rxjs'
import type { Arriving, Sending, WayOf } from '../types/arriving.ts'
import type { AnswersOf, EventsOf, MessagesOf, UnexposedOf } from '../types/carried.ts'
import type { KNOWN } from '../types/carrying.ts'
import type { AsName, AsPattern } from '../types/pattern.ts'
import type { EventType, MessageType } from '../types/service.ts'

/** The ways in which values may travel between a client and its service. */
type Way = keyof Arriving<unknown>

/**
 * The data that a caller may pass. If the handler takes an async iterable, the caller may pass any kind of stream
 * of the same values.
 */
type Input<Data, By extends Way> = [Extract<Data, AsyncIterable<unknown>>] extends [never]
  ? Sending<Data>[Sends<By>]
  : Data extends AsyncIterable<infer Value>
    ? StreamOf<Sending<Value>[Sends<By>]>
    : Sending<Data>[Sends<By>]

/** If one of several codecs is used, callers may send only what JSON carries. */
type Sends<By> = 'json' extends By ? 'json' : By

type StreamOf<Value> = AsyncIterable<Value> | Observable<Value> | Generator<Value>

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
      ? [data?: Data, options?: WithHeaders<Options, Headers>]
      : [data: Data, options?: WithHeaders<Options, Headers>]
    : [data: Data, options: WithHeaders<Options, Headers>]

/** The types of calls of one pattern. */
interface CallType<Data, Headers, Value, Options, By extends Way, Errors = unknown> {
  readonly data: Input<Data, By>
  readonly args: Arguments<Input<Data, By>, Headers, Options>
  /** The same for calls that have headers already, from `client.with({ headers })`. */
  readonly eased: Arguments<Input<Data, By>, unknown, Options>
  readonly headers: Headers
  readonly value: Arriving<Value>[By]
  /** The value of the handler: behind a gateway it arrives in another form than here. */
  readonly returned: Value
  readonly errors: Errors
}

/** The types of an event that is sent or published. Every store keeps events as JSON. */
interface EventCallType<Data, Headers, By extends Way>
  extends CallType<Data, Headers, void, EmitOptions, By> {
  readonly published: {
    readonly args: Arguments<Input<Data, 'json'>, Headers, PublishOptions>
    readonly eased: Arguments<Input<Data, 'json'>, unknown, PublishOptions>
  }
}

/**
 * The types of calls of all patterns of a service. This map is computed once, by pattern name. If the methods'
 * types named the service instead, the compiler would go through the whole service for each method.
 */
type CallTypes<Types, By extends Way> = {
  readonly [Name in keyof Types]: Types[Name] extends MessageType<
    infer Data,
    infer Value,
    infer _S,
    infer Headers,
    infer Errors
  >
    ? CallType<Data, Headers, Value, CallOptions, By, Errors>
    : never
}

/** The types of all events of a service. */
type Emits<Types, By extends Way> = {
  readonly [Name in keyof Types]: Types[Name] extends EventType<infer Data, infer Headers>
    ? EventCallType<Data, Headers, By>
    : never
}

/** The option of a client that depends on the type of its service, behind a short type for editors. */
export interface RepeatingOptions<All = unknown> {
  /**
   * Patterns whose handlers may run twice, as with the option `idempotent` of each call: their calls are
   * retried when the connection is lost. With the type of a service, these are the patterns that it declares so: `.message(pattern,
   * handler, { idempotent: true })`. Default: none.
   */
  readonly idempotent?: readonly Repeatable<All>[] | undefined
}

/** The patterns that a service declares `idempotent`; of a contract, which does not say so, all patterns. */
type Repeatable<All> = unknown extends All
  ? Pattern
  : [All] extends [Hidden<infer Service>]
    ? Declared<MessagesOf<Service>>
    : never

type Declared<Messages> = [RepeatableNames<Messages>] extends [never]
  ? 'The service declares no handler idempotent: .message(pattern, handler, { idempotent: true })'
  : AsPattern<RepeatableNames<Messages>>

type RepeatableNames<Messages> = {
  readonly [Name in keyof Messages]: Messages[Name] extends { readonly '~idempotent'?: infer May }
    ? [May] extends [false]
      ? never
      : Name
    : Name
}[keyof Messages]

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
export type Named<Given, Names, Mistakes> = [Given] extends [AsPattern<Names>]
  ? Given
  : [SentenceFor<Given, Mistakes>] extends [never]
    ? [Names] extends [never]
      ? 'The type has no such patterns; patterns of controller classes need a contract: connect<Contract>()'
      : AsPattern<Names>
    : SentenceFor<Given, Mistakes>

/** The types of calls of the pattern that a caller passes. */
export type CallOf<Types, Given> = Types[AsName<Given> & keyof Types]

/**
 * The arguments that follow the pattern. While the user is still typing, the pattern is any text, so the arguments
 * are unknown.
 */
export type ArgumentsIn<Types, Name, Key extends ArgumentsKey> = string extends Name
  ? unknown[]
  : Types[Name & keyof Types] extends { readonly [One in Key]: infer Args extends unknown[] }
    ? Args
    : never

/** Which arguments calls take: those that need the headers of the handler's schema, or those that have them. */
type ArgumentsKey = 'args' | 'eased'

/** The arguments that follow the pattern of an event that is published. */
export type PublishedIn<Types, Name, Key extends ArgumentsKey> = string extends Name
  ? unknown[]
  : Types[Name & keyof Types] extends {
        readonly published: { readonly [One in Key]: infer Args extends unknown[] }
      }
    ? Args
    : never

/** The value of the answer. */
export type ValueIn<Types, Name> = Types[Name & keyof Types] extends { readonly value: infer Value }
  ? Value
  : never

/**
 * The errors that a pattern declares. Errors that every call may fail with are added where this type is used: the
 * compiler would otherwise name an alias in declarations of users, who cannot import it.
 */
export type DeclaredFailure<Types, Name> = Types[Name & keyof Types] extends { readonly errors: infer Errors }
  ? ArrivingFailures<Errors>
  : never

/** The errors as callers catch them. Whatever the codec, errors travel as JSON. */
type ArrivingFailures<Errors> = {
  [Code in keyof Errors & string]: Errors[Code] extends { readonly details: infer Details }
    ? DeclaredError<Code, Arriving<Details>['json']>
    : never
}[keyof Errors & string]

/**
 * The types that a client knows of its service. Each field is computed once. The interface has the service as its
 * only large parameter, because the compiler goes through all parameters wherever it passes this type on.
 */
export interface Knowledge<Service, By extends Way = 'json'> {
  readonly values: CallTypes<AnswersOf<Service>['values'], By>
  readonly streams: CallTypes<AnswersOf<Service>['streams'], By>
  readonly all: CallTypes<MessagesOf<Service>, By>
  readonly events: Emits<EventsOf<Service>, By>
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
export type Hidden<Types> = '…' | Never<Types>
/** A type without values, because its two sides contradict each other. */
type Never<Types> = { readonly '~shown': false; readonly types: Types } & { readonly '~shown': true }

/** The types that a client knows, behind a short type for editors. */
export interface Known<All> {
  readonly types: [All] extends [Hidden<infer Types extends AnyKnowledge>] ? Types : never
  readonly key: 'args'
}

/** The types that calls know which have their headers already. */
export interface KnownWithHeaders<All> {
  readonly types: [All] extends [Hidden<infer Types extends AnyKnowledge>] ? Types : never
  readonly key: 'eased'
}

export interface AnyKnown {
  readonly types: AnyKnowledge
  readonly key: ArgumentsKey
}

/**
 * A client from whose type a method infers `Known`. At each call of a generic method the compiler goes through all
 * types that its signature names, but not through a type that it infers. If the signatures named `Values`, the
 * calls of n patterns would cost the compiler the square of n.
 */
export interface Knowing<Known> {
  readonly [KNOWN]?: Known
}

/** The types of calls of the patterns of one kind, their names, and the sentences for patterns of other kinds. */
export type CallsIn<Service extends AnyKnown, One extends Kind> = Service['types'][One]
export type NamesIn<Service extends AnyKnown, One extends Kind> = Service['types']['names'][One]
export type MistakesIn<
  Service extends AnyKnown,
  One extends Kind | 'published'
> = Service['types']['mistakes'][One]

/** Clients and calls that know their service. */
export interface Knows<Service, Codec> extends Knowing<Known<Hidden<Knowledge<Service, WayOf<Codec>>>>> {}

/** Calls that know their service, and have the headers that its handlers need. */
export interface KnowsWithHeaders<Service, Codec>
  extends Knowing<KnownWithHeaders<Hidden<Knowledge<Service, WayOf<Codec>>>>> {}
