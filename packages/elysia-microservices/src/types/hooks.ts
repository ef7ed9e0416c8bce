/** The types of hooks and options. */
import type { DurableOptions, RpcError, ValidationError } from '@elysia-microservices/transport/kit'
import type { MessageEnd } from '../hooks/after-response.ts'
import type { HookScope } from '../hooks/hook.ts'
import type { ErrorClass } from '../hooks/known-errors.ts'
import type { ErrorDeclarations } from '../schema/declared-errors.ts'
import type { PassedCode, Throwable, Throws } from './errors.ts'
import type { Message } from './message.ts'
import type { Empty, EmptyScope, Extras, ScopeTypes } from './scope.ts'
import type { Chosen, Guarding, StreamOf } from './service.ts'
import type { GuardKind, MacroFields, MacroValues, UsedOptions } from './used-macros.ts'

type MaybePromise<Value> = Value | Promise<Value>

/** The context of a hook: the message, with all fields that were added to it before. */
export type HookContext<
  Scope extends ScopeTypes,
  Data = undefined,
  Headers = undefined,
  Used = Empty
> = Message<
  Chosen<Data, Guarding<Scope, Used>, 'data', unknown, 'output'>,
  Chosen<Headers, Guarding<Scope, Used>, 'headers', Message['headers'], 'output'>
> &
  Extras<Scope> &
  MacroFields<Scope['macros'], Used>

/** The context of a hook that may answer with a declared error. */
export type ThrowingContext<Scope extends ScopeTypes> = HookContext<Scope> & Throws<Scope['guarded']>

/** The argument of `onStart` and `onStop`: decorators and store. */
export type LifeContext<Scope extends ScopeTypes> = { readonly store: object } & Scope['context']

/** The argument of `onAfterHandle`. */
export type AfterContext<Context> = Context & {
  /** The result of the handler or of the previous hook: a value, or a stream as a whole. */
  readonly response: unknown
}

/** The argument of `onAfterResponse`. */
export type EndedContext<Context> = Context & { readonly end: MessageEnd }

/** The argument of `onError`. The field `code` identifies the error. */
export type ErrorContext<Context, Scope extends ScopeTypes> = Context & KnownFailure<Scope['errors']>

type KnownFailure<Errors> =
  | { readonly code: 'UNKNOWN'; readonly error: unknown }
  | { readonly code: 'VALIDATION'; readonly error: ValidationError }
  | { readonly code: 'RPC'; readonly error: RpcError }
  | { [Code in keyof Errors]: { readonly code: Code; readonly error: Errors[Code] } }[keyof Errors]

/** The errors by their code, from the classes by their code. */
export type ErrorsOf<Classes> = {
  readonly [Code in keyof Classes]: Classes[Code] extends ErrorClass<infer Failure> ? Failure : never
}

/**
 * The fields that a hook adds to the context if it returns `Result`. For `any` there are none, since they would
 * make the whole context `any`.
 */
export type Added<Result> = 0 extends 1 & Result
  ? Empty
  : [Exclude<Awaited<Result>, Error | undefined>] extends [infer Fields extends object]
    ? Fields
    : Empty

/** The result of `derive` and `resolve`: fields for the context, an error, or nothing. */
export type Addition = MaybePromise<Fields | Error | undefined>

/** Fields for the context, whose names are none of the message's own. */
type Fields = object & {
  readonly [Name in
    | keyof Message
    | 'params'
    | 'response'
    | 'error'
    | 'fail'
    | 'code'
    | 'end'
    | 'store']?: Taken<Name>
} & {
  /** A promise is an object, too. */
  readonly then?: never
}

type Taken<Name extends string> = `A message already has a field '${Name}': choose another name`

/** One hook, or a list of hooks. */
export type OneOrMore<Hook> = Hook | readonly Hook[]

/** Hooks in the options of a handler or a guard. */
export interface LocalHooks<Context, Scope extends ScopeTypes, Thrown = Empty> {
  /** The hook runs before the handler. A result other than `undefined` is the answer, and the handler is not called. */
  readonly beforeHandle?: OneOrMore<(context: Context & Thrown) => unknown>
  /** The hook runs after the handler. A result other than `undefined` replaces the answer. */
  readonly afterHandle?: OneOrMore<(context: AfterContext<Context> & Thrown) => unknown>
  /**
   * The hook runs after a failure. A result other than `undefined` is the answer; an `Error` replaces the original
   * error.
   */
  readonly error?: OneOrMore<(context: ErrorContext<Context, Scope>) => unknown>
  /** The hook runs when the message is over. Its result is ignored. */
  readonly afterResponse?: OneOrMore<(context: EndedContext<Context>) => unknown>
}

/** Schemas of what a handler gets, in options: Elysia's `t`, or any Standard Schema (zod, valibot, arktype). */
interface ReceivedSchemas<Data, Headers> {
  /** Schema of the data. A message whose data fails the schema is answered with a `ValidationError`. */
  readonly data?: Data
  /** Schema of the headers. Further headers are allowed. */
  readonly headers?: Headers
}

/** Schemas in options. */
export interface Schemas<Data, Headers, Response> extends ReceivedSchemas<Data, Headers> {
  /** Schema of the answer, or of each value of a stream. An answer that fails the schema is an internal error. */
  readonly response?: Response
}

/** Declarations of errors in options. */
export interface DeclaringOptions<Errors, Code> {
  /**
   * The errors that the handler declares, by code: the schema of their details, or `{ details, status }`. The
   * handler throws such an error with `fail(code, details)`. Details that fail the schema are an internal error.
   */
  readonly errors?: Errors
  /** Codes of declared errors that callers also get if a further service has answered with such an error. */
  readonly passes?: readonly Code[]
}

/** The options of a handler that are about its work as a whole. */
export interface Terms {
  /**
   * Milliseconds that hooks and handler may take together, until the answer or the first value of a stream. Then
   * `signal` aborts, and the caller gets an `RpcError` with the code `TIMEOUT`, unless its own timeout has ended
   * earlier. The event of a durable handler is then delivered again. Default: no limit but the caller's.
   */
  readonly timeout?: number | false | undefined
}

/** The options of a handler of requests that are about its work as a whole. */
export interface MessageTerms<Result = unknown> extends Terms {
  /**
   * Says that running the handler twice does no harm. Descriptions tell it, and a client may name the pattern in its
   * option `idempotent`: it then calls again although the handler may have run. Default: false.
   */
  readonly idempotent?: boolean | undefined
  /**
   * Whether the data and the answer are streams, for descriptions: needed where the handler itself does not show it. The
   * answer of a generator function is known to be a stream, and data with the schema `t.AsyncIterator(…)`. Default: what
   * is not known is missing in descriptions.
   */
  readonly streams?:
    | { readonly data?: boolean | undefined; readonly answer?: StreamOf<Result> | undefined }
    | undefined
}

/**
 * Options of a handler or a guard: schemas, hooks, and the options that macros add.
 * @template Not the options that are for other kinds of handlers, each with the sentence that the compiler shows
 */
export type HandlerOptions<
  Scope extends ScopeTypes,
  Data,
  Headers,
  Response,
  Used = Empty,
  Not = NotOfGuards
> = Schemas<Data, Headers, Response> &
  DeclaringOptions<ErrorDeclarations, PassedCode<Scope, Used>> &
  CommonOptions<Scope, Data, Headers, Used, Not>

/** Options of the handler of a request. */
export type MessageOptions<Scope extends ScopeTypes, Data, Headers, Response, Used, Result> = HandlerOptions<
  Scope,
  Data,
  Headers,
  Response,
  Used,
  NotOfMessages
> &
  MessageTerms<Result>

/** Hooks and macros in options, and the check of their names. */
type CommonOptions<Scope extends ScopeTypes, Data, Headers, Used, Not> = LocalHooks<
  HookContext<Scope, Data, Headers, Used>,
  Scope,
  Throws<Throwable<Scope, Used>>
> &
  MacroValues<Scope['macros']> &
  UsedOptions<Used, OptionName | keyof Scope['macros'], Not>

type OfHandlers = 'This is an option of each handler, not of a guard'

interface NotOfGuards {
  readonly durable: OfHandlers
  readonly timeout: OfHandlers
  readonly idempotent: OfHandlers
  readonly streams: OfHandlers
}

interface NotOfMessages {
  readonly durable: 'Only events can be durable: a request has a caller that waits'
}

interface NotOfEvents {
  readonly response: 'An event has no answer, so it cannot have a schema of its answer'
  readonly errors: 'An event has no answer, so it cannot declare errors'
  readonly passes: 'An event has no answer, so it cannot pass errors on'
  readonly idempotent: 'Nobody waits for an event: a durable handler runs at least once, and must bear to run twice'
  readonly streams: 'An event has no answer, and its data is one value'
}

/** Further options of a guard without a callback. */
export interface GuardOptions<As extends HookScope, Kind extends GuardKind> {
  /** The services to which the guard applies. Default: `'local'`, this service only. */
  readonly as?: As
  /**
   * Whether a handler's own schema of data, headers or response replaces the guard's (`'override'`), or both must
   * hold (`'standalone'`). Default: `'override'`.
   */
  readonly schema?: Kind
}

/** Options of the handler of an event, which has no answer. */
export type EventOptions<Scope extends ScopeTypes, Data, Headers, Used> = ReceivedSchemas<Data, Headers> &
  CommonOptions<Scope, Data, Headers, Used, NotOfEvents> &
  Terms & {
    /**
     * Runs the handler for each event until it succeeds, or keeps the event as a dead letter. Such events are sent
     * with `client.publish`, and need a transport that stores events. `true`: with all defaults. Default: the handler
     * runs at most once for each event.
     */
    readonly durable?: DurableOptions | true | undefined
  }

type OptionName =
  | keyof Schemas<unknown, unknown, unknown>
  | keyof DeclaringOptions<unknown, unknown>
  | keyof LocalHooks<unknown, EmptyScope>
  | keyof GuardOptions<HookScope, GuardKind>
  | 'durable'
  | keyof MessageTerms
