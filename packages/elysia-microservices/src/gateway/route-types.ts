/** The types of a gateway's routes: which patterns a route may name, and what its functions get and give. */
import type { Pattern } from '@elysia-microservices/transport/kit'
import type { DocumentDecoration } from 'elysia'
import type { ResolvePath } from 'elysia/types'
import type { AsPattern, CallOf, Client, UntypedClient } from '../client/client-types.ts'
import type { AnySchema, OutputOf } from '../schema/schema-types.ts'
import type { ForwardOptions } from './call-options.ts'
import type { Method } from './route-key.ts'

/** A client, or a function that makes a client which the app owns, and closes when it stops. */
export type GivenClient<Values, Streams, All, Events> =
  | Client<Values, Streams, All, Events>
  | UntypedClient
  | (() => Client<Values, Streams, All, Events> | UntypedClient)

/** The path of a key. */
export type PathOf<Key> = Key extends `${Method} ${infer Path extends `/${string}`}` ? Path : never
/** The method of a key. */
export type MethodOf<Key> = Key extends `${infer Name extends Method} ${string}` ? Name : never

type Output<Schema, None> = Schema extends AnySchema ? OutputOf<Schema> : None

/** What the functions of a route get: the context of Elysia. */
export interface RouteContext<Params = unknown, Query = unknown, Body = unknown> {
  /** Parameters of the path; with a schema: checked and decoded. */
  readonly params: Params
  /** With a schema: checked and decoded. */
  readonly query: Query
  /** With a schema: checked and decoded. */
  readonly body: Body
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly request: Request
  /** What decorators, `derive` and `resolve` of the app have added. */
  readonly [name: string]: unknown
}

/** The parameters of a path: texts. */
export type ParamsOf<Key> = {
  readonly [Name in keyof ResolvePath<PathOf<Key>>]: ResolvePath<PathOf<Key>>[Name]
}

type ContextOf<Key, Params, Query, Body> = RouteContext<
  Output<Params, ParamsOf<Key>>,
  Output<Query, Readonly<Record<string, string | undefined>>>,
  Output<Body, unknown>
>

/** What routes of all kinds have. */
export interface RouteBase<Context = RouteContext> extends ForwardOptions<Context> {
  /** Entries of the route in OpenAPI documents; they replace the entries that are made from the pattern. */
  readonly detail?: DocumentDecoration | undefined
  /**
   * Schema of the answer, or of each value of a stream: Elysia's `t`, or any Standard Schema that can be written as JSON
   * Schema, as zod's can. Only for OpenAPI documents: the service checks its answers.
   */
  readonly response?: AnySchema | undefined
}

/** Schemas of the request; Elysia's `t`, or any Standard Schema. */
export interface RouteSchemas<Params = AnySchema, Query = AnySchema, Body = AnySchema> {
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
}

/** A route that answers with one value. */
export interface MessageRoute {
  /** Status of an answer. Default: 200, or 204 without a body if the service answers `undefined`. */
  readonly status?: number
}

/** A route that answers with Server-Sent Events. */
export interface StreamRoute {
  /** Milliseconds of silence after which a comment is sent to keep the connection. Default: none are sent. */
  readonly heartbeat?: number | undefined
}

/** A route that sends an event. */
export interface EventRoute {
  /** Status once the event is handed over. Default: 202. */
  readonly status?: number
  /** Nobody answers an event: it is not sent again. */
  readonly idempotent?: never
  readonly within?: never
}

type DataOf<Type> = Type extends { readonly data: infer Data } ? Data : never

/** The function that makes the data: required where the default data does not fit the pattern. */
type DataFunction<Context, Data, Fits> = true extends Fits
  ? { readonly data?: (context: Context) => Data | Promise<Data> }
  : { readonly data: (context: Context) => Data | Promise<Data> }

type Bodyless = 'GET' | 'HEAD' | 'DELETE' | 'OPTIONS'

/** The parts of a request whose fields are known, in the order in which they replace each other. */
type FieldsOf<Key, Params, Query, Body> = Output<Params, ParamsOf<Key>> &
  (Query extends AnySchema ? OutputOf<Query> : unknown) &
  (Body extends AnySchema ? OutputOf<Body> : unknown)

/** The type of other fields that may come: any (`unknown`), texts of the query, or none (`never`). */
type Others<Key, Query, Body> =
  MethodOf<Key> extends Bodyless
    ? Query extends AnySchema
      ? never
      : string
    : Body extends AnySchema
      ? never
      : unknown

/**
 * The type of other fields that may come. None, if a parameter of the path has no place in the data: then a name is
 * misspelt, and what it was meant for would be looked for in the query or the body.
 */
type OthersBeside<Data, Key, Params, Query, Body> = [
  Exclude<keyof Output<Params, ParamsOf<Key>>, KeyOf<Data>>
] extends [never]
  ? Others<Key, Query, Body>
  : never

type KeyOf<Data> = Data extends unknown ? keyof Data : never

/** Names of fields that do not fit: of another type, or missing. */
type Misfits<Data, Fields, Rest> = {
  [Name in keyof Data]-?: Name extends keyof Fields
    ? Fields[Name] extends Data[Name]
      ? never
      : Name
    : unknown extends Rest
      ? never
      : [Rest] extends [never]
        ? undefined extends Data[Name]
          ? never
          : Name
        : Rest extends Data[Name]
          ? never
          : Name
}[keyof Data]

type Indivisible = string | number | boolean | bigint | symbol | readonly unknown[] | ArrayBufferView

/** Whether the default data fits the pattern, as far as schemas tell. */
export type FitsByDefault<Data, Key, Params, Query, Body> = unknown extends Data
  ? true
  : [NonNullable<Data>] extends [never]
    ? true
    : [Extract<NonNullable<Data>, Indivisible>] extends [never]
      ? [
          Misfits<
            NonNullable<Data>,
            FieldsOf<Key, Params, Query, Body>,
            OthersBeside<NonNullable<Data>, Key, Params, Query, Body>
          >
        ] extends [never]
        ? true
        : false
      : FitsWhole<Data, Key, Query, Body>

/** A body that is no object is sent as it is, if there is nothing else to send. */
type FitsWhole<Data, Key, Query, Body> =
  MethodOf<Key> extends Bodyless
    ? false
    : Query extends AnySchema
      ? false
      : [keyof ParamsOf<Key>] extends [never]
        ? Body extends AnySchema
          ? OutputOf<Body> extends Data
            ? true
            : false
          : true
        : false

type NameIn<Types> = unknown extends Types ? Pattern : AsPattern<keyof Types>
type DataIn<Types, Given> = unknown extends Types ? unknown : DataOf<CallOf<Types, Given>>

/** What a client knows, with the patterns of each kind, worked out once for all routes. */
export interface Known<Values, Streams, Events> {
  readonly values: Values
  readonly streams: Streams
  readonly events: Events
  readonly names: {
    readonly pattern: NameIn<Values>
    readonly stream: NameIn<Streams>
    readonly emit: NameIn<Events>
  }
}
type Field = 'pattern' | 'stream' | 'emit'

interface AnyKnown {
  readonly values: unknown
  readonly streams: unknown
  readonly events: unknown
  readonly names: Readonly<Record<Field, unknown>>
}

/** What all kinds share: schemas, options, and the function that makes the data. */
type Made<Data, Key, Params, Query, Body> = RouteBase<ContextOf<Key, Params, Query, Body>> &
  RouteSchemas<Params, Query, Body> &
  DataFunction<ContextOf<Key, Params, Query, Body>, Data, FitsByDefault<Data, Key, Params, Query, Body>>

/** A pattern by itself. */
type TextOf<Name, Data, Key> =
  true extends FitsByDefault<Data, Key, undefined, undefined, undefined>
    ? Extract<Name, string | number>
    : Wrong<Sentences['data']>

type MessageOf<Name, Data, Key, Params, Query, Body> = MessageRoute & { readonly pattern: Name } & Made<
    Data,
    Key,
    Params,
    Query,
    Body
  >

type StreamOf<Name, Data, Key, Params, Query, Body> = StreamRoute & { readonly stream: Name } & Made<
    Data,
    Key,
    Params,
    Query,
    Body
  >

type EventOf<Name, Data, Key, Params, Query, Body> = EventRoute & { readonly emit: Name } & Made<
    Data,
    Key,
    Params,
    Query,
    Body
  >

/** Fits no pattern: the compiler shows its sentence. No text itself, because two texts together are `never`. */
interface Wrong<Sentence, Known = never> {
  readonly '~wrong': Sentence
  readonly '~known': Known
}

interface Sentences {
  readonly value: 'This pattern answers with one value: use { pattern }'
  readonly stream: 'This pattern answers with a stream: use { stream }'
  readonly event: 'This pattern is an event: use { emit }'
  readonly none: 'There is no such pattern; there are:'
  readonly key: 'A key is a method in capitals, one space and a path, such as GET /users/:id'
  readonly data: 'What comes by default does not fit the data: add schemas (params, query, body), or a function data'
}

/** The field of a route's pattern; a text is `pattern`. */
type FieldOf<Streamed, Emitted> = unknown extends Streamed
  ? unknown extends Emitted
    ? 'pattern'
    : 'emit'
  : 'stream'

/** A pattern may stand by itself in place of `{ pattern }`. */
type OrItself<Kind extends Field, Is> = Kind extends 'pattern'
  ? { readonly pattern: Is } | Is
  : { readonly [Name in Kind]: Is }

/** What a route of a kind may have there, where its pattern is of another kind, or does not exist. */
type Mistaken<All extends AnyKnown, Given, Kind extends Field> = OrItself<
  Kind,
  Given extends All['names']['pattern']
    ? Wrong<Sentences['value']>
    : Given extends All['names']['stream']
      ? Wrong<Sentences['stream']>
      : Given extends All['names']['emit']
        ? Wrong<Sentences['event']>
        : Wrong<Sentences['none'], All['names'][Kind]>
>

/** The routes that a key may have, only of the kind that its pattern is for, so that the compiler has little to compare. */
type RouteFor<
  All extends AnyKnown,
  Key,
  Given,
  Kind extends Field,
  Params,
  Query,
  Body
> = Given extends All['names'][Kind]
  ? Kind extends 'pattern'
    ?
        | TextOf<Given, DataIn<All['values'], Given>, Key>
        | MessageOf<Given, DataIn<All['values'], Given>, Key, Params, Query, Body>
    : Kind extends 'stream'
      ? StreamOf<Given, DataIn<All['streams'], Given>, Key, Params, Query, Body>
      : EventOf<Given, DataIn<All['events'], Given>, Key, Params, Query, Body>
  : Mistaken<All, Given, Kind>

/** The routes that a key may have. `Given` is the pattern that was given, under `stream`, `emit`, or otherwise. */
export type RouteOf<All extends AnyKnown, Key, Given, Streamed, Emitted, Params, Query, Body> = [
  PathOf<Key>
] extends [never]
  ? Wrong<Sentences['key']>
  : RouteFor<All, Key, Given, FieldOf<Streamed, Emitted>, Params, Query, Body>

/** Lets a text fit a type that has only optional fields: text has a `length`. */
interface OrText {
  readonly length?: unknown
}

/** Where the compiler finds the pattern, and the schemas, of each route. */
export type PatternAt<Given> =
  | Given
  | ({ readonly pattern?: Given; readonly stream?: Given; readonly emit?: Given } & OrText)
export type ParamsAt<Params> = { readonly params?: Params } & OrText
export type StreamAt<Given> = { readonly stream?: Given } & OrText
export type EmitAt<Given> = { readonly emit?: Given } & OrText
export type QueryAt<Query> = { readonly query?: Query } & OrText

/** The entry of a record, `undefined` if there is none. */
export type At<Entries, Key> = Key extends keyof Entries ? Entries[Key] : undefined

/** The entry of a record, `unknown` if nothing was found for it. */
export type Found<Entries, Key> = Key extends keyof Entries ? Entries[Key] : unknown
