/** The types of a gateway's routes: which patterns a route may name, and the arguments and results of its functions. */
import type { DocumentDecoration } from 'elysia'
import type { ResolvePath } from 'elysia/types'
import type { Client, UntypedClient } from '../client/client-types.ts'
import type { AnySchema, OutputOf } from '../schema/schema-types.ts'
import type { ForwardOptions } from './call-options.ts'
import type { Method } from './route-key.ts'

/** A client, or a function that makes a client, which the app owns and closes when it stops. */
export type GivenClient<Service> = AnyClient<Service> | (() => AnyClient<Service>)

type AnyClient<Service> = Client<Service> | Client<Service, 'msgpack'> | UntypedClient

/** The path of a key. */
export type PathOf<Key> = Key extends `${Method} ${infer Path extends `/${string}`}` ? Path : never
/** The method of a key. */
export type MethodOf<Key> = Key extends `${infer Name extends Method} ${string}` ? Name : never

/** The argument of a route's functions: the context of Elysia. */
export interface RouteContext<Params = unknown, Query = unknown, Body = unknown> {
  /** The parameters of the path; with a schema they are checked and decoded. */
  readonly params: Params
  /** The query; with a schema it is checked and decoded. */
  readonly query: Query
  /** The body; with a schema it is checked and decoded. */
  readonly body: Body
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly request: Request
  /** Fields that the app's decorators, `derive` and `resolve` have added. */
  readonly [name: string]: unknown
}

/** The parameters of a path, whose values are texts. */
export type ParamsOf<Key> = {
  readonly [Name in keyof ResolvePath<PathOf<Key>>]: ResolvePath<PathOf<Key>>[Name]
}

/** The value of a key in a record; `undefined` if the record has no such key. */
export type At<Entries, Key> = Key extends keyof Entries ? Entries[Key] : undefined

/** The output type of a route's schema, or `None` if the route has no schema for that part. */
export type OutputAt<Given, Part, None> =
  At<Given, Part> extends infer Schema ? (Schema extends AnySchema ? OutputOf<Schema> : None) : never

/** The argument of a route's functions, from its key and its schemas. */
export interface ContextAt<Key, Given> extends RouteContext {
  readonly params: OutputAt<Given, 'params', ParamsOf<Key>>
  readonly query: OutputAt<Given, 'query', Readonly<Record<string, string | undefined>>>
  readonly body: OutputAt<Given, 'body', unknown>
}

/**
 * A type with all lists and fields read-only. Routes have such types, because the compiler infers their texts
 * literally.
 */
type Fixed<Type> = Type extends (...args: never[]) => unknown
  ? Type
  : { readonly [Key in keyof Type]: Fixed<Type[Key]> }

/** The fields that routes of all kinds have. */
export interface RouteBase<Context = RouteContext, Response = AnySchema | undefined>
  extends ForwardOptions<Context> {
  /** Entries for the route in OpenAPI documents. They replace the entries that are made from the pattern. */
  readonly detail?: Fixed<DocumentDecoration> | undefined
  /**
   * Schema of the answer, or of each value of a stream: Elysia's `t`, or any Standard Schema that can be written as
   * JSON Schema, such as zod's. It is used only in OpenAPI documents: the service checks its answers itself.
   */
  readonly response?: Response
}

/** Schemas of the request: Elysia's `t`, or any Standard Schema. */
export interface RouteSchemas<Params = AnySchema, Query = AnySchema, Body = AnySchema> {
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
}

/** A route that answers with one value. */
export interface MessageRoute {
  /** The status of a successful answer. Default: 200, or 204 without a body if the service answers `undefined`. */
  readonly status?: number
}

/** A route that answers with Server-Sent Events. */
export interface StreamRoute {
  /**
   * Milliseconds without a value after which a comment is sent, so that proxies do not close the connection.
   * Default: no comments are sent.
   */
  readonly heartbeat?: number | undefined
}

/** A route that sends an event. */
export interface EventRoute {
  /** The status once the event is handed over to the client's connection. Default: 202. */
  readonly status?: number
  /** An event has no answer, so it is never retried. */
  readonly idempotent?: never
  readonly within?: never
}
