/** The types of a gateway's routes: which patterns a route may name, and what its functions get and give. */
import type { DocumentDecoration } from 'elysia'
import type { ResolvePath } from 'elysia/types'
import type { Client, UntypedClient } from '../client/client-types.ts'
import type { AnySchema, OutputOf } from '../schema/schema-types.ts'
import type { ForwardOptions } from './call-options.ts'
import type { Method } from './route-key.ts'

/** A client, or a function that makes a client which the app owns, and closes when it stops. */
export type GivenClient<Service> = Client<Service> | UntypedClient | (() => Client<Service> | UntypedClient)

/** The path of a key. */
export type PathOf<Key> = Key extends `${Method} ${infer Path extends `/${string}`}` ? Path : never
/** The method of a key. */
export type MethodOf<Key> = Key extends `${infer Name extends Method} ${string}` ? Name : never

/** The argument of a route's functions: the context of Elysia. */
export interface RouteContext<Params = unknown, Query = unknown, Body = unknown> {
  /** Parameters of the path; with a schema: checked and decoded. */
  readonly params: Params
  /** With a schema: checked and decoded. */
  readonly query: Query
  /** With a schema: checked and decoded. */
  readonly body: Body
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly request: Request
  /** Fields that decorators, `derive` and `resolve` of the app have added. */
  readonly [name: string]: unknown
}

/** The parameters of a path: texts. */
export type ParamsOf<Key> = {
  readonly [Name in keyof ResolvePath<PathOf<Key>>]: ResolvePath<PathOf<Key>>[Name]
}

/** The entry of a record, `undefined` if there is none. */
export type At<Entries, Key> = Key extends keyof Entries ? Entries[Key] : undefined

/** The output of a route's schema, else the type that holds without one. */
export type OutputAt<Given, Part, None> =
  At<Given, Part> extends infer Schema ? (Schema extends AnySchema ? OutputOf<Schema> : None) : never

/** The argument of one route's functions, by its key and its schemas. */
export interface ContextAt<Key, Given> extends RouteContext {
  readonly params: OutputAt<Given, 'params', ParamsOf<Key>>
  readonly query: OutputAt<Given, 'query', Readonly<Record<string, string | undefined>>>
  readonly body: OutputAt<Given, 'body', unknown>
}

/** A type whose lists and fields cannot be changed, as those of routes are, whose texts the compiler remembers. */
type Fixed<Type> = Type extends (...args: never[]) => unknown
  ? Type
  : { readonly [Key in keyof Type]: Fixed<Type[Key]> }

/** The fields that routes of all kinds have. */
export interface RouteBase<Context = RouteContext, Response = AnySchema | undefined>
  extends ForwardOptions<Context> {
  /** Entries of the route in OpenAPI documents; they replace the entries that are made from the pattern. */
  readonly detail?: Fixed<DocumentDecoration> | undefined
  /**
   * Schema of the answer, or of each value of a stream: Elysia's `t`, or any Standard Schema that can be written as JSON
   * Schema, as zod's can. Only for OpenAPI documents: the service checks its answers.
   */
  readonly response?: Response
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
