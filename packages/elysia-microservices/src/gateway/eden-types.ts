/** The routes of a gateway as Elysia's types. Eden's `treaty` and the app's own types use them. */
import type { Elysia } from 'elysia'
import type { CallOf, CallsOf } from '../client/known.ts'
import type { AnySchema, InputOf } from '../schema/schema-types.ts'
import type { Arriving } from '../types/arriving.ts'
import type { Empty } from '../types/scope.ts'
import type { ErrorBody } from './error-response.ts'
import type { At, MethodOf, ParamsOf, PathOf } from './route-types.ts'

/** One event of a stream: a value, an error, or the end. */
export type StreamEvent<Value, Failure = ErrorBody> =
  | { readonly event?: undefined; readonly data: Value }
  | { readonly event: 'error'; readonly data: Failure }
  | { readonly event: 'end' }

/** The statuses with which a gateway may answer errors. */
export type ErrorStatus = 400 | 401 | 403 | 404 | 409 | 413 | 422 | 429 | 499 | 500 | 501 | 502 | 503 | 504

/** The answers of a failed call, by status. */
export type ErrorAnswers = { readonly [Status in ErrorStatus]: ErrorBody }

/** The body of an error that the pattern declares. */
export interface DeclaredBody<Code, Details> {
  readonly code: Code
  readonly message: string
  readonly details: Details
}

/**
 * The status in the declaration of an error. Without one any status is possible: it follows from the error's code,
 * or from the gateway's option `errors`.
 */
type StatusIn<Type> = Type extends { readonly status: infer Status extends number } ? Status : ErrorStatus

/** The bodies of the declared errors. */
type BodyOf<Errors> = {
  [Code in keyof Errors]: Errors[Code] extends { readonly details: infer Details }
    ? DeclaredBody<Code, Arriving<Details>['eden']>
    : never
}[keyof Errors]

/** The bodies of those declared errors that are answered with a given status. */
type BodyAt<Errors, Status> = {
  [Code in keyof Errors]: Status extends StatusIn<Errors[Code]> ? BodyOf<Pick<Errors, Code>> : never
}[keyof Errors]

/** The answers of a failed call, including the errors that the pattern declares. */
export type AnswersWith<Errors> = [keyof Errors] extends [never]
  ? ErrorAnswers
  : {
      readonly [Status in ErrorStatus | { [Code in keyof Errors]: StatusIn<Errors[Code]> }[keyof Errors]]:
        | ErrorBody
        | BodyAt<Errors, Status>
    }

/** The errors that a pattern declares; no errors if the types do not have the pattern. */
type ErrorsOf<Types, Given> = unknown extends Types
  ? Empty
  : [CallOf<Types, Given>] extends [never]
    ? Empty
    : CallOf<Types, Given> extends { readonly errors: infer Errors }
      ? Errors
      : Empty

/**
 * The value with which a pattern answers, as Eden reads it; `never` if these types do not have the pattern, `unknown`
 * for a client without types.
 */
type ValueOf<Types, Given> = unknown extends Types
  ? unknown
  : [CallOf<Types, Given>] extends [never]
    ? never
    : CallOf<Types, Given> extends { readonly returned: infer Value }
      ? Arriving<Value>['eden']
      : never

type StreamOf<Types, Given> = unknown extends Types
  ? never
  : [CallOf<Types, Given>] extends [never]
    ? never
    : AsyncGenerator<
        StreamEvent<ValueOf<Types, Given>, ErrorBody | BodyOf<ErrorsOf<Types, Given>>>,
        void,
        unknown
      >

/** The answer of a route; `void` for an event, which has no answer. */
type AnswerOf<Values, Streams, Events, Given> =
  | ValueOf<Values, Given>
  | StreamOf<Streams, Given>
  | ValueOf<Events, Given>

type InputOr<Schema, None> = Schema extends AnySchema ? InputOf<Schema> : None

/** One route. A part without a schema has an unknown type: it may be left out, or have any value. */
export interface EdenRoute<Params, Query, Body, Answer, Errors = Empty> {
  readonly body: Body
  readonly params: Params
  readonly query: Query
  readonly headers: unknown
  readonly response: { readonly 200: Answer } & AnswersWith<Errors>
}

/** The routes of a gateway by their keys, and the types of calls of the gateway's client. */
interface Given<Service, Routes> {
  readonly values: CallsOf<Service, 'values'>
  readonly streams: CallsOf<Service, 'streams'>
  readonly events: CallsOf<Service, 'events'>
  /** The pattern and the schemas of each route. */
  readonly routes: Routes
}
type AnyGiven = Readonly<Record<keyof Given<unknown, unknown>, unknown>>

type RoutePart<All extends AnyGiven, Key, Part> = At<At<All['routes'], Key>, Part>

type RouteAt<All extends AnyGiven, Key> = EdenRoute<
  InputOr<RoutePart<All, Key, 'params'>, ParamsOf<Key>>,
  InputOr<RoutePart<All, Key, 'query'>, unknown>,
  InputOr<RoutePart<All, Key, 'body'>, unknown>,
  AnswerOf<All['values'], All['streams'], All['events'], RoutePart<All, Key, 'pattern'>>,
  ErrorsOf<All['values'], RoutePart<All, Key, 'pattern'>> &
    ErrorsOf<All['streams'], RoutePart<All, Key, 'pattern'>>
>

/** The part of a route's path below a node of the tree, a line break, and the route's key. */
type Left<Path extends string, Key extends string> = `${Path}\n${Key}`

type LeftOf<Key> = Key extends string
  ? PathOf<Key> extends `/${infer Path}`
    ? Left<Path, Key>
    : never
  : never

type HasEnded<One> = One extends `\n${infer Key}` ? Key : never

type Segment<One> =
  One extends Left<infer Path, string>
    ? Path extends ''
      ? never
      : Path extends `${infer First}/${string}`
        ? First
        : Path
    : never

type Below<One> =
  One extends Left<infer Path, infer Key>
    ? Left<Path extends `${string}/${infer Rest}` ? Rest : '', Key>
    : never

/**
 * Builds a tree of routes by the segments of their paths. Each segment handles all of its routes together: an
 * intersection of single routes would cost the compiler the square of their number.
 */
type Tree<All extends AnyGiven, Rests extends string> = {
  [One in Rests as Lowercase<MethodOf<HasEnded<One>>>]: RouteAt<All, HasEnded<One>>
} & { [One in Rests as Segment<One>]: Tree<All, Below<One>> }

/** The routes of a gateway as a tree, by the segments of their paths. */
export type EdenRoutes<Service, Routes> = Tree<Given<Service, Routes>, LeftOf<keyof Routes>>

/** An Elysia plugin with these routes. */
export type GatewayPlugin<Routes> = Elysia<
  '',
  { decorator: Empty; store: Empty; derive: Empty; resolve: Empty },
  { typebox: Empty; error: Empty },
  { schema: Empty; standaloneSchema: Empty; macro: Empty; macroFn: Empty; parser: Empty; response: Empty },
  Routes & Empty
>
