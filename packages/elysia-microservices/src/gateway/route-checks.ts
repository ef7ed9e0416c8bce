/** Types by which the compiler checks a gateway's routes, with a sentence for each mistake. */
import type { Pattern } from '@elysia-microservices/transport/kit'
import type { CallOf, CallsOf } from '../client/known.ts'
import type { AnySchema } from '../schema/schema-types.ts'
import type { AsPattern } from '../types/pattern.ts'
import type { DEFAULTS } from './call-options.ts'
import type { FitsByDefault } from './route-fit.ts'
import type { At, ContextAt, PathOf, RouteBase, RouteSchemas } from './route-types.ts'

/** The field of a route that has its pattern: `pattern` for one value, `stream` for all values, `emit` for an event. */
type Kind = 'pattern' | 'stream' | 'emit'

type NameIn<Types> = unknown extends Types ? Pattern : AsPattern<keyof Types>

/**
 * The types that a client knows with the patterns of each kind, computed once for all routes, and the headers of
 * all routes.
 */
export interface Known<Service, Headers> {
  readonly types: {
    readonly pattern: CallsOf<Service, 'values'>
    readonly stream: CallsOf<Service, 'streams'>
    readonly emit: CallsOf<Service, 'events'>
  }
  readonly names: {
    readonly pattern: NameIn<CallsOf<Service, 'values'>>
    readonly stream: NameIn<CallsOf<Service, 'streams'>>
    readonly emit: NameIn<CallsOf<Service, 'events'>>
  }
  readonly headers: Headers
}

interface AnyKnown {
  readonly types: Readonly<Record<Kind, unknown>>
  readonly names: Readonly<Record<Kind, unknown>>
  readonly headers: unknown
}

/** The kind of a route. A route that is only a text has the kind `pattern`. */
type KindOf<Given> = 'stream' extends keyof Given ? 'stream' : 'emit' extends keyof Given ? 'emit' : 'pattern'

/** The pattern of a route. */
export type NameAt<Given> = Given extends string | number ? Given : At<Given, KindOf<Given>>

/** The types of calls of a pattern; `unknown` for a client without types. */
type CallIn<Types, Name> = unknown extends Types ? unknown : CallOf<Types, Name>

type PartOf<Call, Part> = Part extends keyof Call ? Call[Part] : unknown

/**
 * A type that no pattern fits, so that the compiler shows its sentence. The type is not the text itself, because an
 * intersection of two texts is `never`.
 */
interface Wrong<Sentence, Known = never> {
  readonly '~wrong': Sentence
  readonly '~known': Known
}

interface Sentences {
  readonly pattern: 'This pattern answers with one value: use { pattern }'
  readonly stream: 'This pattern answers with a stream: use { stream }'
  readonly emit: 'This pattern is an event: use { emit }'
  readonly none: 'There is no such pattern; the patterns are:'
  readonly key: 'A key is a method in capitals, one space and a path, such as GET /users/:id'
  readonly data: 'The default data of the route does not fit the pattern: add schemas (params, query, body), or a function data'
  readonly headers: 'The pattern needs headers that the route does not pass on: name them in headers'
}

/** The sentence for a pattern of the wrong kind, or for an unknown pattern. */
type Mistaken<All extends AnyKnown, Name, Own extends Kind> = [Name] extends [All['names']['pattern']]
  ? Wrong<Sentences['pattern']>
  : [Name] extends [All['names']['stream']]
    ? Wrong<Sentences['stream']>
    : [Name] extends [All['names']['emit']]
      ? Wrong<Sentences['emit']>
      : Wrong<Sentences['none'], All['names'][Own]>

/**
 * Puts a sentence where the compiler shows it best: at the field that has the pattern, or at the key if the route
 * is a text or has no pattern.
 */
type SaidOf<Given, Sentence> = [keyof Given & Kind] extends [never] ? Sentence : SaidAtPattern<Sentence>
interface SaidAtPattern<Sentence> {
  readonly pattern?: Sentence
  readonly stream?: Sentence
  readonly emit?: Sentence
}

/**
 * `unknown` if a route is correct, else the sentence for its mistake. `Own` and `Name` are parameters, because the
 * compiler would go through all patterns for each route if they were computed in here.
 */
type Verdict<All extends AnyKnown, Key, Given, Own extends Kind, Name> = [Name] extends [All['names'][Own]]
  ? VerdictOfCall<CallIn<All['types'][Own], Name>, Key, Given, All['headers']>
  : SaidOf<Given, Mistaken<All, Name, Own>>

type VerdictOfCall<Call, Key, Given, Headers> = 'data' extends keyof Given
  ? VerdictOfHeaders<PartOf<Call, 'headers'>, Given, Headers>
  : FitsByDefault<PartOf<Call, 'data'>, Key, Given> extends true
    ? VerdictOfHeaders<PartOf<Call, 'headers'>, Given, Headers>
    : SaidOf<Given, Wrong<Sentences['data']>>

type VerdictOfHeaders<Wanted, Given, Headers> = unknown extends Wanted
  ? unknown
  : [Missing<Wanted, 'headers' extends keyof Given ? Given['headers'] : Headers>] extends [never]
    ? unknown
    : SaidOf<
        Given,
        Wrong<
          Sentences['headers'],
          Missing<Wanted, 'headers' extends keyof Given ? Given['headers'] : Headers>
        >
      >

type Missing<Wanted, Rule> = Exclude<Needed<Wanted>, Passed<Rule>>

/** The names of headers that callers must send. */
type Needed<Headers> = {
  [Name in keyof Headers]-?: Record<never, never> extends Pick<Headers, Name> ? never : Name
}[keyof Headers]

/**
 * The names of headers that are always sent to the service: without a rule, and in addition to the headers that a
 * function returns.
 */
export type AlwaysPassed = (typeof DEFAULTS.headers)[number]

/**
 * The headers option for all routes, in a form from which the compiler infers the names. For a function it infers
 * only that there is one, by its method `bind`.
 */
export interface PassedByAll<Names, Made> {
  readonly headers?: { readonly [index: number]: Names } | { readonly bind: Made } | undefined
}

/** The names of headers that a rule passes on; any text if the compiler does not know the names. */
type Passed<Rule> = unknown extends Rule
  ? string
  : Rule extends readonly (infer Name)[]
    ? string extends Name
      ? string
      : Lowercase<Name & string>
    : Rule extends (...args: never[]) => infer Made
      ? keyof Made | AlwaysPassed
      : AlwaysPassed

/** The routes that are allowed for a key. `Given` is the type of what the user has written: a pattern, or an object. */
export type RouteOf<All extends AnyKnown, Key, Given> = [PathOf<Key>] extends [never]
  ? Wrong<Sentences['key']>
  : Verdict<All, Key, Given, KindOf<Given>, NameAt<Given>> &
      Given &
      FieldsAt<Given> &
      RouteFields<All, Key, Given>

/**
 * Repeats the user's route field by field, so that the compiler can infer each field. From a whole object with
 * functions it could infer nothing.
 */
type FieldsAt<Given> = {
  readonly [Name in keyof Given]: Name extends keyof RouteFields<AnyKnown, unknown, unknown>
    ? Given[Name]
    : Wrong<`There is no option '${Name & string}' of a route`>
}

/** The headers that a function must return: those that the pattern needs, and any others. */
type MadeHeaders<Wanted> = unknown extends Wanted
  ? MadeHeader
  : MadeHeader & { readonly [Name in Exclude<Needed<Wanted>, AlwaysPassed>]: string }
type MadeHeader = Readonly<Record<string, string | undefined>>

type ForAnswers<Given, Type> = 'emit' extends keyof Given ? never : Type

/** A part of the types of calls of a route's pattern. */
type CallPartAt<All extends AnyKnown, Given, Part> = PartOf<
  CallIn<All['types'][KindOf<Given>], NameAt<Given>>,
  Part
>

/** `unknown` if the response is a schema: up to TypeScript 6 the compiler fails to intersect two schemas. */
type ResponseAt<Given> = At<Given, 'response'> extends AnySchema | undefined ? unknown : AnySchema | undefined

/** The fields of a route. The types of a field are computed only if a route has the field. */
interface RouteFields<All extends AnyKnown, Key, Given>
  extends RouteBase<ContextAt<Key, Given>, ResponseAt<Given>>,
    RouteSchemas<unknown, unknown, unknown> {
  /** The pattern of a message: the answer is one value. */
  readonly pattern?: unknown
  /** The pattern of a message: the answer is a stream of all values. */
  readonly stream?: unknown
  /** The pattern of an event. */
  readonly emit?: unknown
  /** Makes the data that is sent. Default: parameters, query and body of the request, merged. */
  readonly data?: (
    context: ContextAt<Key, Given>
  ) => CallPartAt<All, Given, 'data'> | Promise<CallPartAt<All, Given, 'data'>>
  /** See {@link RouteBase}. The headers must include those that the pattern needs. */
  readonly headers?:
    | readonly string[]
    | ((context: ContextAt<Key, Given>) => MadeHeaders<CallPartAt<All, Given, 'headers'>>)
    | undefined
  /** The status of a success. Default: 200 (204 without a body if the answer is `undefined`), 202 for an event. */
  readonly status?: 'stream' extends keyof Given ? never : number
  /** Milliseconds without a value after which a stream sends a comment. Default: no comments are sent. */
  readonly heartbeat?: 'stream' extends keyof Given ? number | undefined : never
  /** See {@link RouteBase}. Events cannot have this option, because they have no answer and are not retried. */
  readonly idempotent?: ForAnswers<Given, boolean | undefined>
  /** See {@link RouteBase}. Events cannot have this option. */
  readonly within?: ForAnswers<Given, RouteBase<ContextAt<Key, Given>>['within']>
}
