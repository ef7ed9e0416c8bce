/** The types that a service carries: its patterns, with the types of their data and answers. */
import type { RpcError } from '@elysia-microservices/transport'
import type { Observable } from 'rxjs'
import type { AnySchema } from '../schema/schema-types.ts'
import type { EVENTS, MESSAGES, SCOPE } from './carrying.ts'
import type { Throwable, Throws } from './errors.ts'
import type { Message } from './message.ts'
import type { ParamsContext, Prefixed } from './pattern.ts'
import type { Empty, Extras, SchemaTypes, ScopeTypes, Sides, StandaloneTypes } from './scope.ts'
import type { MacroFields, StandaloneWith } from './used-macros.ts'

/** The input and output types of a message pattern. */
export interface MessageType<
  Data = unknown,
  Value = unknown,
  Stream = boolean,
  Headers = unknown,
  Errors = unknown,
  Idempotent = unknown
> {
  /** The data that callers send. */
  readonly data: Data
  /**
   * The data again, as a parameter, so that a service that accepts more kinds of data fits a contract. Has no value
   * at run time.
   */
  readonly '~takes'?: (data: Data) => void
  /** The type of the answer, or of each value of a stream. */
  readonly value: Value
  /** `true` for a stream of values, `false` for one value, `boolean` if both are possible. */
  readonly stream: Stream
  /** The headers that callers must send; `unknown` if they need not send any. */
  readonly headers: Headers
  /** The errors that the pattern declares, by code. */
  readonly errors: Errors
  /** `true` if the handler may run twice; `unknown` in a contract. Has no value at run time. */
  readonly '~idempotent'?: Idempotent
}

/** The input types of an event pattern. */
export interface EventType<Data = unknown, Headers = unknown, Durable = unknown> {
  /** The data that senders send. */
  readonly data: Data
  /** See {@link MessageType}. */
  readonly '~takes'?: (data: Data) => void
  /** The headers that senders must send; `unknown` if they need not send any. */
  readonly headers: Headers
  /** `true` if the handler is durable; `unknown` in a contract. Has no value at run time. */
  readonly '~durable'?: Durable
}

/** A function that answers a message: with a value, or with a promise, Observable or (async) iterator of values. */
export type MessageHandler<Data = unknown, Result = unknown> = (message: Message<Data>) => Result

/** A function that handles an event. Its result is awaited or subscribed to, and then ignored. */
export type EventHandler<Data = unknown> = (message: Message<Data>) => unknown

/** The values that a handler may return to answer with a stream. */
export type AnyStream<Value = unknown> = Observable<Value> | AsyncIterable<Value> | Generator<Value>

/** The values a caller receives from a handler that returns `Result`. */
export type ValueOf<Result> = ValueIn<Settled<Result>>

/** As `Awaited`, also for the Observable of `client.send()`, which the compiler refuses to await. */
type Settled<Result> = Result extends Observable<unknown> ? Result : Awaited<Result>

type ValueIn<Result> =
  Result extends Observable<infer Value>
    ? Value
    : Result extends AsyncIterable<infer Value>
      ? Value
      : Result extends Generator<infer Value>
        ? Value
        : Result extends RpcError
          ? never
          : Result

/** Whether a handler that returns `Result` answers with a stream; `boolean` if that is known at run time only. */
export type StreamOf<Result> = [IsStream<Settled<Result>>] extends [never]
  ? boolean
  : IsStream<Settled<Result>>

type IsStream<Result> = unknown extends Result
  ? boolean
  : Result extends AnyStream
    ? true
    : Result extends RpcError
      ? never
      : false

/** The schemas that apply to a handler besides its own: those that its own replace, and those that hold beside them. */
export interface Guarding<Scope extends ScopeTypes, Used> {
  readonly schema: Scope['schema']
  readonly standalone: StandaloneWith<Scope['standalone'], Scope['macros'], Used>
  readonly models: Scope['models']
}

/** Any `Guarding`. */
export interface AnyGuarding {
  readonly schema: SchemaTypes
  readonly standalone: StandaloneTypes
  readonly models: object
}

/**
 * The type of a part of the message: from the handler's own schema, else from the guard's schema, and from all
 * standalone schemas; without any schema, `None`.
 */
export type Chosen<
  Schema,
  Guards extends AnyGuarding,
  Part extends keyof SchemaTypes,
  None,
  Side extends keyof Sides<unknown>
> = Schema extends AnySchema
  ? Sides<Schema>[Side] & SideOf<Guards['standalone'][Part], Side, unknown>
  : Schema extends keyof Guards['models']
    ? Sides<Guards['models'][Schema]>[Side] & SideOf<Guards['standalone'][Part], Side, unknown>
    : Guards['schema'][Part] extends infer Guard extends AnySchema
      ? Sides<Guard>[Side] & SideOf<Guards['standalone'][Part], Side, unknown>
      : SideOf<Guards['standalone'][Part], Side, None>

/** The type from standalone schemas; `None` if there are none. */
type SideOf<Standalone, Side extends keyof Sides<unknown>, None> = Standalone extends {
  readonly [Key in Side]: infer Type
}
  ? Type
  : None

/** The fields in the context of a handler, besides the message's own. */
export type HandlerExtras<Scope extends ScopeTypes, Given, Used> = ParamsContext<Given> &
  Extras<Scope> &
  MacroFields<Scope['macros'], Used> &
  Throws<Throwable<Scope, Used>>

/** The values that a handler may return: if there is a schema for the response, those that fit the schema. */
export type Returned<Guards extends AnyGuarding, Response> =
  Chosen<Response, Guards, 'response', unknown, 'returned'> extends infer Value
    ? unknown extends Value
      ? unknown
      :
          | Loose<Value>
          | AnyStream<Loose<Value>>
          | RpcError
          | Promise<Loose<Value> | AnyStream<Loose<Value>> | RpcError>
    : never

/**
 * A type without literals and tuples. The compiler widens `{ kind: 'a' }` to `{ kind: string }` before it sees the
 * schema, so only the schema's check at run time finds a wrong text.
 */
type Loose<Type> = Type extends string
  ? string
  : Type extends number
    ? number
    : Type extends boolean
      ? boolean
      : Type extends (...args: never[]) => unknown
        ? Type
        : Type extends readonly (infer Item)[]
          ? readonly Loose<Item>[]
          : Type extends object
            ? { [Key in keyof Type]: Loose<Type[Key]> }
            : Type

/** The type of a message pattern. Schemas take precedence over the handler's own types. */
export type MessageTypeOf<
  Guards extends AnyGuarding,
  Data,
  Headers,
  Response,
  Annotated,
  Result,
  Errors,
  Used
> = MessageType<
  Chosen<Data, Guards, 'data', Annotated, 'input'>,
  Chosen<Response, Guards, 'response', ValueOf<Result>, 'answer'>,
  StreamOf<Result>,
  Chosen<Headers, Guards, 'headers', unknown, 'input'>,
  Errors,
  Used extends { readonly idempotent: true } ? true : false
>

/** The type of an event pattern. */
export type EventTypeOf<Guards extends AnyGuarding, Data, Headers, Annotated, Used> = EventType<
  Chosen<Data, Guards, 'data', Annotated, 'input'>,
  Chosen<Headers, Guards, 'headers', unknown, 'input'>,
  Used extends { readonly durable: true | object } ? true : false
>

/**
 * The patterns that one call of `message` adds to a service, with values and streams apart. To sort the types of
 * all patterns at each call would cost the compiler the square of their number.
 */
export interface Answers<Names extends PropertyKey, Type, Stream> {
  readonly values: { readonly [Name in Names as false extends Stream ? Name : never]: Type }
  readonly streams: { readonly [Name in Names as true extends Stream ? Name : never]: Type }
}

/** The answers of a service without patterns. */
export interface NoAnswers {
  readonly values: Empty
  readonly streams: Empty
}

/** The answers of a group, with the group's prefix before their names. */
export interface PrefixedAnswers<Prefix extends string, Group extends NoAnswers> {
  readonly values: Prefixed<Prefix, Group['values']>
  readonly streams: Prefixed<Prefix, Group['streams']>
}

/**
 * Carries types for `connect` and for services that use this one. The fields have no values at run time. They are
 * not optional: to infer from a type that includes `undefined`, the compiler would first compute the whole inferred
 * type, at each call of a chain.
 */
export interface Typed<Messages = unknown, Events = unknown, Scope = unknown> {
  readonly [MESSAGES]: Messages
  readonly [EVENTS]: Events
  readonly [SCOPE]: Scope
}
