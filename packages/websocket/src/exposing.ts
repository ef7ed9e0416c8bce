/** Types for the patterns of a service that a door exposes: a client has these patterns and no others. */
import type { Pattern } from '@elysia-microservices/transport'
import type {
  AnswersOf,
  EventsOf,
  MessagesOf,
  MistakenAnswers,
  ObjectName,
  Typed
} from 'elysia-microservices/types'

/** Carries the exposed patterns in a type, for `connect`; has no value at run time. */
export interface Exposing<Patterns extends readonly Pattern[] = readonly Pattern[]> {
  readonly '~exposes'?: Patterns
}

/** Whether an exposed text with wildcards covers a name: `*` matches one segment, `>` the rest. */
type Covers<Exposed extends string, Name extends string> = Exposed extends '>'
  ? true
  : Name extends Exposed
    ? true
    : Exposed extends `${infer First}.${infer Rest}`
      ? Name extends `${infer Own}.${infer Others}`
        ? Own extends (First extends '*' ? string : First)
          ? Covers<Rest, Others>
          : false
        : false
      : Exposed extends '*'
        ? Name extends `${string}.${string}`
          ? false
          : true
        : false

/** The name of a pattern in the type of a service. */
type TextOf<Given> = Given extends string | number ? `${Given}` : ObjectName<Given>

/** Whether one of the exposed patterns covers a name. A pattern that is known at run time only may cover any name. */
type IsExposed<Given, Name> = true extends (
  Given extends unknown
    ? string extends Given
      ? true
      : `${Name & (string | number)}` extends `{${string}`
        ? `${Name & (string | number)}` extends TextOf<Given>
          ? true
          : false
        : Covers<TextOf<Given>, `${Name & (string | number)}`>
    : never
)
  ? true
  : false

type Only<Types, Given> = {
  readonly [Name in keyof Types as IsExposed<Given, Name> extends true ? Name : never]: Types[Name]
}

/** The names that are not exposed. */
type Others<Types, Given> = keyof {
  readonly [Name in keyof Types as IsExposed<Given, Name> extends true ? never : Name]: unknown
}

/** The patterns of a service or contract that a door exposes, and those that it does not expose. */
export type Behind<Service, Door> = '~exposes' extends keyof Door
  ? Door extends Exposing<infer Patterns>
    ? Typed<
        {
          readonly values: Only<AnswersOf<Service>['values'], Patterns[number]>
          readonly streams: Only<AnswersOf<Service>['streams'], Patterns[number]>
        },
        Only<EventsOf<Service>, Patterns[number]>
      > & {
        readonly '~unexposed': Others<MessagesOf<Service> & EventsOf<Service>, Patterns[number]>
      }
    : never
  : Typed<MistakenAnswers<'This is not a door: use typeof of the value that websocket() returns'>, unknown>
