/** The types of hooks and options. */
import type { DurableOptions, RpcError, ValidationError } from '@elysia-microservices/transport/kit'
import type { MessageEnd } from '../hooks/after-response.ts'
import type { ErrorClass } from '../hooks/known-errors.ts'
import type { ErrorDeclarations } from '../schema/declared-errors.ts'
import type { AnySchema, OutputOf } from '../schema/schema-types.ts'
import type { PassedCode, Throwable, Throws } from './errors.ts'
import type { Message } from './message.ts'
import type { Empty, EmptyScope, Extras, ScopeTypes } from './scope.ts'
import type { MacroFields, MacroValues, SchemasWith, UsedOptions } from './used-macros.ts'

type MaybePromise<Value> = Value | Promise<Value>

/** The context of a hook: the message, with everything that was added to it so far. */
export type HookContext<
  Scope extends ScopeTypes,
  Data = undefined,
  Headers = undefined,
  Used = Empty
> = Message<
  Checked<Data, SchemasWith<Scope['schema'], Scope['macros'], Used>['data'], unknown>,
  Checked<Headers, SchemasWith<Scope['schema'], Scope['macros'], Used>['headers'], Message['headers']>
> &
  Extras<Scope> &
  MacroFields<Scope['macros'], Used>

/** The context of a hook that may answer with an error of the contract. */
export type ThrowingContext<Scope extends ScopeTypes> = HookContext<Scope> & Throws<Scope['guarded']>

type Checked<Schema, Guard, None> = Schema extends AnySchema
  ? OutputOf<Schema>
  : Guard extends AnySchema
    ? OutputOf<Guard>
    : None

/** Argument of `onStart` and `onStop`: decorators and store. */
export type LifeContext<Scope extends ScopeTypes> = { readonly store: object } & Scope['context']

/** Argument of `onAfterHandle`. */
export type AfterContext<Context> = Context & {
  /** Result of the handler or the previous hook: a value, or a stream as a whole. */
  readonly response: unknown
}

/** Argument of `onAfterResponse`. */
export type EndedContext<Context> = Context & { readonly end: MessageEnd }

/** Argument of `onError`: `code` tells which error it is. */
export type ErrorContext<Context, Scope extends ScopeTypes> = Context & KnownFailure<Scope['errors']>

type KnownFailure<Errors> =
  | { readonly code: 'UNKNOWN'; readonly error: unknown }
  | { readonly code: 'VALIDATION'; readonly error: ValidationError }
  | { readonly code: 'RPC'; readonly error: RpcError }
  | { [Code in keyof Errors]: { readonly code: Code; readonly error: Errors[Code] } }[keyof Errors]

/** Errors by code, from their classes by code. */
export type ErrorsOf<Classes> = {
  readonly [Code in keyof Classes]: Classes[Code] extends ErrorClass<infer Failure> ? Failure : never
}

/**
 * The fields that a hook which returns `Result` adds to the context. `any` adds none: it would make the whole context
 * `any`.
 */
export type Added<Result> = 0 extends 1 & Result
  ? Empty
  : [Exclude<Awaited<Result>, Error | undefined>] extends [infer Fields extends object]
    ? Fields
    : Empty

/** Result of `derive` and `resolve`: fields for the context, an error, or nothing. */
export type Addition = MaybePromise<object | undefined>

/** One hook, or several. */
export type OneOrMore<Hook> = Hook | readonly Hook[]

/** Hooks as options of a handler or a guard. */
export interface LocalHooks<Context, Scope extends ScopeTypes, Thrown = Empty> {
  /** Runs before the handler. A result other than `undefined` is the answer, and the handler is not called. */
  readonly beforeHandle?: OneOrMore<(context: Context & Thrown) => unknown>
  /** Runs after the handler. A result other than `undefined` replaces the answer. */
  readonly afterHandle?: OneOrMore<(context: AfterContext<Context> & Thrown) => unknown>
  /** Runs when something has failed. A result other than `undefined` is the answer, an `Error` replaces the error. */
  readonly error?: OneOrMore<(context: ErrorContext<Context, Scope>) => unknown>
  /** Runs when the message is over; its result is ignored. */
  readonly afterResponse?: OneOrMore<(context: EndedContext<Context>) => unknown>
}

/** Schemas as options; Elysia's `t`, or any Standard Schema (zod, valibot, arktype). */
export interface Schemas<Data, Headers, Response> {
  /** Schema of the data. Data that does not fit is answered with a `ValidationError`. */
  readonly data?: Data
  /** Schema of the headers. Headers that it does not name may be there too. */
  readonly headers?: Headers
  /** Schema of the answer, or of each value of a stream. An answer that does not fit is an internal error. */
  readonly response?: Response
}

/** The errors of a contract as options. */
export interface DeclaringOptions<Errors, Code> {
  /**
   * Errors that are part of the contract, by code: the schema of their details, or `{ details, status }`. The handler
   * throws them by `error(code, details)`. Details that do not fit are an internal error.
   */
  readonly errors?: Errors
  /** Codes of the contract that callers also get where a further service has answered with them. */
  readonly passes?: readonly Code[]
}

/** Options of a handler or a guard: schemas, hooks, and the options that macros add. */
export type HandlerOptions<Scope extends ScopeTypes, Data, Headers, Response, Used = Empty> = Schemas<
  Data,
  Headers,
  Response
> &
  DeclaringOptions<ErrorDeclarations, PassedCode<Scope, Used>> &
  LocalHooks<HookContext<Scope, Data, Headers, Used>, Scope, Throws<Throwable<Scope, Used>>> &
  MacroValues<Scope['macros']> &
  UsedOptions<Used, OptionName | keyof Scope['macros']>

/** Options of the handler of an event, which has no answer. */
export type EventOptions<Scope extends ScopeTypes, Data, Headers, Used> = HandlerOptions<
  Scope,
  Data,
  Headers,
  'An event has no answer, and so no schema of one',
  Used
> & {
  /**
   * Runs each event until it succeeds, or keeps it as a dead letter; events come by `client.publish`. Needs a transport
   * that stores events. `true`: with all defaults. Default: each event runs at most once.
   */
  readonly durable?: DurableOptions | true | undefined
  readonly errors?: 'An event has no answer, and so no errors in its contract'
}

type OptionName =
  | keyof Schemas<unknown, unknown, unknown>
  | keyof DeclaringOptions<unknown, unknown>
  | keyof LocalHooks<unknown, EmptyScope>
  | 'as'
  | 'durable'
