/** The types of hooks and options. */
import type { RpcError, ValidationError } from '@elysia-microservices/transport/kit'
import type { ErrorClass } from '../hooks/known-errors.ts'
import type { AnySchema, OutputOf } from '../schema/schema-types.ts'
import type { Message } from './message.ts'
import type { Empty, EmptyScope, Extras, ScopeTypes } from './scope.ts'
import type { MacroFields, MacroValues, SchemasWith, UsedOptions } from './used-macros.ts'

type MaybePromise<Value> = Value | Promise<Value>

/** What a hook gets: the message with all that was added to it so far. */
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

type Checked<Schema, Guard, None> = Schema extends AnySchema
  ? OutputOf<Schema>
  : Guard extends AnySchema
    ? OutputOf<Guard>
    : None

/** What `onAfterHandle` gets. */
export type AfterContext<Context> = Context & {
  /** What the handler, or the hook before, returned; of a stream the stream. */
  readonly response: unknown
}

/** What `onError` gets: `code` tells which error it is. */
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

/** What a hook that returns `Result` adds to the context; of `any` nothing is known, and `any` must not spread. */
export type Added<Result> = 0 extends 1 & Result
  ? Empty
  : [Exclude<Awaited<Result>, Error | undefined>] extends [infer Fields extends object]
    ? Fields
    : Empty

/** What `derive` and `resolve` may return: fields for the context, an error, or nothing. */
export type Addition = MaybePromise<object | undefined>

/** One hook, or several. */
export type OneOrMore<Hook> = Hook | readonly Hook[]

/** Hooks as options of a handler or a guard. */
export interface LocalHooks<Context, Scope extends ScopeTypes> {
  /** Runs before the handler; what it returns (but `undefined`) is the answer instead of the handler's. */
  readonly beforeHandle?: OneOrMore<(context: Context) => unknown>
  /** Runs after the handler; what it returns (but `undefined`) replaces the answer. */
  readonly afterHandle?: OneOrMore<(context: AfterContext<Context>) => unknown>
  /** Runs when something failed; what it returns (but `undefined`) is the answer, an `Error` the error. */
  readonly error?: OneOrMore<(context: ErrorContext<Context, Scope>) => unknown>
}

/** Schemas as options; Elysia's `t`, or any Standard Schema (zod, valibot, arktype). */
export interface Schemas<Data, Headers, Response> {
  /** Of what the caller sends. What breaks it is answered with a `ValidationError`. */
  readonly data?: Data
  /** Of the headers; others than it names may be there too. */
  readonly headers?: Headers
  /** Of the answer, of a stream of each value. What breaks it is an internal error. */
  readonly response?: Response
}

/** Options of a handler, a guard: schemas, hooks, and what macros add. */
export type HandlerOptions<Scope extends ScopeTypes, Data, Headers, Response, Used = Empty> = Schemas<
  Data,
  Headers,
  Response
> &
  LocalHooks<HookContext<Scope, Data, Headers, Used>, Scope> &
  MacroValues<Scope['macros']> &
  UsedOptions<Used, OptionName | keyof Scope['macros']>

/** Options of the handler of an event, which has no answer. */
export type EventOptions<Scope extends ScopeTypes, Data, Headers, Used> = HandlerOptions<
  Scope,
  Data,
  Headers,
  undefined,
  Used
> & { readonly response?: never }

type OptionName = keyof Schemas<unknown, unknown, unknown> | keyof LocalHooks<unknown, EmptyScope> | 'as'
