/** The routes of a gateway as Elysia knows routes: what Eden's `treaty` and the app's own types are made of. */
import type { Elysia } from 'elysia'
import type { CreateEden } from 'elysia/types'
import type { CallOf } from '../client/client-types.ts'
import type { AnySchema, InputOf } from '../schema/schema-types.ts'
import type { Empty } from '../types/scope.ts'
import type { ErrorBody } from './error-response.ts'
import type { At, MethodOf, ParamsOf, PathOf } from './route-types.ts'

/** What comes of a stream: its values, and how it ended. */
export type StreamEvent<Value> =
  | { readonly event?: undefined; readonly data: Value }
  | { readonly event: 'error'; readonly data: ErrorBody }
  | { readonly event: 'end' }

/** Statuses of errors that a gateway answers with. */
type ErrorStatus = 400 | 401 | 403 | 404 | 409 | 413 | 422 | 429 | 499 | 500 | 501 | 502 | 503 | 504

type ErrorAnswers = { readonly [Status in ErrorStatus]: ErrorBody }

/** The value of a pattern; `never` if there is no such pattern among these, `unknown` of a client without types. */
type ValueOf<Types, Given> = unknown extends Types
  ? unknown
  : [CallOf<Types, Given>] extends [never]
    ? never
    : CallOf<Types, Given> extends { readonly value: infer Value }
      ? Value
      : never

type StreamOf<Types, Given> = unknown extends Types
  ? never
  : [CallOf<Types, Given>] extends [never]
    ? never
    : AsyncGenerator<StreamEvent<ValueOf<Types, Given>>, void, unknown>

/** What a route answers: an event has no answer, which `void` says. */
type AnswerOf<Values, Streams, Events, Given> =
  | ValueOf<Values, Given>
  | StreamOf<Streams, Given>
  | ValueOf<Events, Given>

type InputOr<Schema, None> = Schema extends AnySchema ? InputOf<Schema> : None

/** One route. What has no schema is not known: it may be left out, or be anything. */
interface EdenRoute<Params, Query, Body, Answer> {
  readonly body: Body
  readonly params: Params
  readonly query: Query
  readonly headers: unknown
  readonly response: { readonly 200: Answer } & ErrorAnswers
}

type RouteAt<Key, Answer, Params, Query, Body> = CreateEden<
  PathOf<Key>,
  {
    [Name in Lowercase<MethodOf<Key>>]: EdenRoute<
      InputOr<Params, ParamsOf<Key>>,
      InputOr<Query, unknown>,
      InputOr<Body, unknown>,
      Answer
    >
  }
>

type All<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer Each) => void
  ? Each
  : never

/** The routes of a gateway, by the parts of their paths. */
export type EdenRoutes<Values, Streams, Events, Patterns, Params, Query, Body> = All<
  {
    [Key in keyof Body]: RouteAt<
      Key,
      AnswerOf<Values, Streams, Events, At<Patterns, Key>>,
      At<Params, Key>,
      At<Query, Key>,
      Body[Key]
    >
  }[keyof Body]
>

/** An Elysia plugin with routes. */
export type GatewayPlugin<Routes> = Elysia<
  '',
  { decorator: Empty; store: Empty; derive: Empty; resolve: Empty },
  { typebox: Empty; error: Empty },
  { schema: Empty; standaloneSchema: Empty; macro: Empty; macroFn: Empty; parser: Empty; response: Empty },
  Routes & Empty
>
