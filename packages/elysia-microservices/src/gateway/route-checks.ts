/** Lets the compiler check a gateway's routes, with a sentence for each mistake. */
import type { Pattern } from '@elysia-microservices/transport/kit'
import type { AsPattern, CallOf, CallsOf } from '../client/client-types.ts'
import type { AnySchema } from '../schema/schema-types.ts'
import type { DEFAULTS } from './call-options.ts'
import type { FitsByDefault } from './route-fit.ts'
import type { At, ContextAt, PathOf, RouteBase, RouteSchemas } from './route-types.ts'

/** The field of a route that has its pattern: for one value, for all values, for an event. */
type Kind = 'pattern' | 'stream' | 'emit'

type NameIn<Types> = unknown extends Types ? Pattern : AsPattern<keyof Types>

/**
 * The types that a client knows, with the patterns of each kind, worked out once for all routes, and headers of all
 * routes.
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

/** The kind of a route; a text is `pattern`. */
type KindOf<Given> = 'stream' extends keyof Given ? 'stream' : 'emit' extends keyof Given ? 'emit' : 'pattern'

/** The pattern of a route. */
export type NameAt<Given> = Given extends string | number ? Given : At<Given, KindOf<Given>>

/** The types of calls of a pattern; `unknown` of a client without types. */
type CallIn<Types, Name> = unknown extends Types ? unknown : CallOf<Types, Name>

type PartOf<Call, Part> = Part extends keyof Call ? Call[Part] : unknown

/** Fits no pattern: the compiler shows its sentence. No text itself, because two texts together are `never`. */
interface Wrong<Sentence, Known = never> {
  readonly '~wrong': Sentence
  readonly '~known': Known
}

interface Sentences {
  readonly pattern: 'This pattern answers with one value: use { pattern }'
  readonly stream: 'This pattern answers with a stream: use { stream }'
  readonly emit: 'This pattern is an event: use { emit }'
  readonly none: 'There is no such pattern; there are:'
  readonly key: 'A key is a method in capitals, one space and a path, such as GET /users/:id'
  readonly data: 'What comes by default does not fit the data: add schemas (params, query, body), or a function data'
  readonly headers: 'The pattern needs headers that the route does not pass on: name them in headers'
}

/** The compiler's sentence for a pattern of the wrong kind, or for an unknown one. */
type Mistaken<All extends AnyKnown, Name, Own extends Kind> = [Name] extends [All['names']['pattern']]
  ? Wrong<Sentences['pattern']>
  : [Name] extends [All['names']['stream']]
    ? Wrong<Sentences['stream']>
    : [Name] extends [All['names']['emit']]
      ? Wrong<Sentences['emit']>
      : Wrong<Sentences['none'], All['names'][Own]>

/** A sentence, where the compiler shows it best: at the field of the pattern; of a text, or without a pattern, at the key. */
type SaidOf<Given, Sentence> = [keyof Given & Kind] extends [never] ? Sentence : SaidAtPattern<Sentence>
interface SaidAtPattern<Sentence> {
  readonly pattern?: Sentence
  readonly stream?: Sentence
  readonly emit?: Sentence
}

/**
 * Anything, if nothing is wrong with a route; else what is said of it. `Own` and `Name` are of the route: the compiler would
 * go through all patterns for each route, if they were worked out in here.
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

/** Names of headers that callers must send. */
type Needed<Headers> = {
  [Name in keyof Headers]-?: Record<never, never> extends Pick<Headers, Name> ? never : Name
}[keyof Headers]

/** Names of headers that reach the service without a rule, and beside what a function returns. */
export type AlwaysPassed = (typeof DEFAULTS.headers)[number]

/** Where the compiler finds the headers of all routes: names, or that there is a function, which has methods. */
export interface PassedByAll<Names, Made> {
  readonly headers?: { readonly [index: number]: Names } | { readonly bind: Made } | undefined
}

/** Names of headers that a rule passes on; any, where the compiler does not know. */
type Passed<Rule> = unknown extends Rule
  ? string
  : Rule extends readonly (infer Name)[]
    ? string extends Name
      ? string
      : Lowercase<Name & string>
    : Rule extends (...args: never[]) => infer Made
      ? keyof Made | AlwaysPassed
      : AlwaysPassed

/** The routes that a key may have. `Given` is what was given: a pattern, or an object. */
export type RouteOf<All extends AnyKnown, Key, Given> = [PathOf<Key>] extends [never]
  ? Wrong<Sentences['key']>
  : Verdict<All, Key, Given, KindOf<Given>, NameAt<Given>> &
      Given &
      FieldsAt<Given> &
      RouteFields<All, Key, Given>

/** Where the compiler finds what was given, field by field: a whole object with functions would tell it nothing. */
type FieldsAt<Given> = {
  readonly [Name in keyof Given]: Name extends keyof RouteFields<AnyKnown, unknown, unknown>
    ? Given[Name]
    : Wrong<`There is no option '${Name & string}' of a route`>
}

/** The headers that a function returns: those that the pattern needs, and others. */
type MadeHeaders<Wanted> = unknown extends Wanted
  ? MadeHeader
  : MadeHeader & { readonly [Name in Exclude<Needed<Wanted>, AlwaysPassed>]: string }
type MadeHeader = Readonly<Record<string, string | undefined>>

type ForAnswers<Given, Type> = 'emit' extends keyof Given ? never : Type

/** A part of how the pattern of a route is called. */
type CallPartAt<All extends AnyKnown, Given, Part> = PartOf<
  CallIn<All['types'][KindOf<Given>], NameAt<Given>>,
  Part
>

/** Anything, where it is a schema: up to TypeScript 6 the compiler loses its way where it intersects two of them. */
type ResponseAt<Given> = At<Given, 'response'> extends AnySchema | undefined ? unknown : AnySchema | undefined

/** The fields of a route. The types of a field are worked out where a route has it. */
interface RouteFields<All extends AnyKnown, Key, Given>
  extends RouteBase<ContextAt<Key, Given>, ResponseAt<Given>>,
    RouteSchemas<unknown, unknown, unknown> {
  /** The pattern of a message: the answer is one value. */
  readonly pattern?: unknown
  /** The pattern of a message: the answer is a stream of all values. */
  readonly stream?: unknown
  /** The pattern of an event. */
  readonly emit?: unknown
  /** Makes the data that is sent. Default: what comes with the request, merged. */
  readonly data?: (
    context: ContextAt<Key, Given>
  ) => CallPartAt<All, Given, 'data'> | Promise<CallPartAt<All, Given, 'data'>>
  /** See {@link RouteBase}. They have to have those that the pattern needs. */
  readonly headers?:
    | readonly string[]
    | ((context: ContextAt<Key, Given>) => MadeHeaders<CallPartAt<All, Given, 'headers'>>)
    | undefined
  /** Status of a success. Default: 200 (204 without a body if the answer is `undefined`), 202 of an event. */
  readonly status?: 'stream' extends keyof Given ? never : number
  /** Milliseconds of silence of a stream after which a comment is sent. Default: none are sent. */
  readonly heartbeat?: 'stream' extends keyof Given ? number | undefined : never
  /** See {@link RouteBase}. Nobody answers an event: it is not sent again. */
  readonly idempotent?: ForAnswers<Given, boolean | undefined>
  /** See {@link RouteBase}. Not of an event. */
  readonly within?: ForAnswers<Given, RouteBase<ContextAt<Key, Given>>['within']>
}
