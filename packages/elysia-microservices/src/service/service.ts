/**
 * The type of a service, and how each method of the chain changes it. The context of handlers is written out in
 * each method, because editors would show an alias with its name and all its arguments.
 *
 * `message` and `event` infer the patterns that were added before from `this`. At each call of a generic method the
 * compiler goes through all types that its signature names, but not through a type that it infers. If the
 * signatures named `Messages`, a chain of n patterns would cost the compiler the square of n.
 */
import type { Middleware, ReceivedMessage } from '@elysia-microservices/transport'
import type { AnyElysia } from 'elysia'
import type { HookScope } from '../hooks/hook.ts'
import type { ErrorClass } from '../hooks/known-errors.ts'
import type { Patterns } from '../router/handler-pattern.ts'
import type { AnySchema } from '../schema/schema-types.ts'
import type { AnswersOf, EventsOf, ScopeOf } from '../types/carried.ts'
import type { ErrorsFor } from '../types/errors.ts'
import type { FunctionNames } from '../types/function-names.ts'
import type {
  Added,
  Addition,
  AfterContext,
  EndedContext,
  ErrorContext,
  ErrorsOf,
  EventOptions,
  GuardOptions,
  HandlerOptions,
  HookContext,
  LifeContext,
  MessageOptions,
  ThrowingContext
} from '../types/hooks.ts'
import type { AnyMacro, KnownMembers, Macros, MacroTypes } from '../types/macro.ts'
import type { Message } from '../types/message.ts'
import type { NameOf, Prefixed } from '../types/pattern.ts'
import type { Running } from '../types/running.ts'
import type {
  Complete,
  Empty,
  EmptyScope,
  Extras,
  Grouped,
  ModelName,
  ScopeTypes,
  Usable,
  Widened,
  With,
  WithApp,
  WithErrors,
  WithMacros,
  WithModels,
  WithService
} from '../types/scope.ts'
import type {
  Answers,
  Chosen,
  EventTypeOf,
  Guarding,
  HandlerExtras,
  MessageTypeOf,
  NoAnswers,
  PrefixedAnswers,
  Returned,
  StreamOf,
  Typed
} from '../types/service.ts'
import type { Guarded, GuardKind } from '../types/used-macros.ts'
import type { ServicePart } from './life.ts'

/**
 * Any service, as the parameter type of helper functions that start, stop or inspect services.
 * @example
 * ```ts
 * import type { AnyMicroservice } from 'elysia-microservices'
 *
 * async function stopAll(...services: readonly AnyMicroservice[]) {
 *   await Promise.all(services.map((service) => service.stop()))
 * }
 * ```
 */
export interface AnyMicroservice extends Typed, Running {}

/**
 * A service: handlers of message and event patterns. It is an Elysia plugin (`app.use(service)`), and
 * `connect<typeof service>()` derives the types of a client from its type.
 */
export interface Microservice<Messages = Empty, Events = Empty, Scope extends ScopeTypes = EmptyScope>
  extends Typed<Messages, Events, Scope>,
    Running,
    FunctionNames {
  /**
   * The service as an Elysia plugin: Elysia calls this function in `app.use(service)`. Handlers get the app's
   * decorators and store.
   */
  <App extends AnyElysia>(app: App & Complete<Scope>): App

  /**
   * Starts all transports. Needed without an app, or to start before the app does. If a transport cannot start, the
   * others are stopped again. Does nothing if the service listens already. In a supervisor the promise resolves
   * when all workers listen. A service whose handlers need the fields of another service (`microservice<typeof
   * auth>()`) cannot listen alone; this is a compile error.
   * @throws {ListenError} the port is taken or not allowed
   * @throws {WorkerError} a worker cannot start; then no process is left
   */
  listen(this: Complete<Scope>): Promise<this>

  /**
   * Answers requests of a pattern with the result of the handler: a value, or a promise, Observable or (async)
   * iterator of values.
   * @throws {OptionError} the pattern has a handler already, or the pattern or an option is invalid
   */
  message<
    const Given extends Patterns,
    Result extends Returned<Guarding<Scope, Used>, Response>,
    Data extends AnySchema | ModelName<Scope> | undefined = undefined,
    Headers extends AnySchema | ModelName<Scope> | undefined = undefined,
    Response extends AnySchema | ModelName<Scope> | undefined = undefined,
    Annotated = unknown,
    const Used = Empty,
    Before = unknown,
    Taken = unknown
  >(
    this: Typed<Before, Taken>,
    pattern: Given,
    handler: (
      context: Message<
        Chosen<Data, Guarding<Scope, Used>, 'data', Annotated, 'output'>,
        Chosen<Headers, Guarding<Scope, Used>, 'headers', Message['headers'], 'output'>
      > &
        HandlerExtras<Scope, Given, Used>
    ) => Result,
    options?: MessageOptions<Scope, Data, Headers, Response, Used, Result>
  ): Microservice<
    Before &
      Answers<
        NameOf<Given>,
        MessageTypeOf<
          Guarding<Scope, Used>,
          Data,
          Headers,
          Response,
          Annotated,
          Result,
          ErrorsFor<Scope, Used>,
          Used
        >,
        StreamOf<Result>
      >,
    Taken,
    Scope
  >

  /**
   * Handles events of a pattern. All handlers whose pattern matches run; a handler that fails does not stop the
   * others.
   * @throws {OptionError} the pattern or an option is invalid
   */
  event<
    const Given extends Patterns,
    Data extends AnySchema | ModelName<Scope> | undefined = undefined,
    Headers extends AnySchema | ModelName<Scope> | undefined = undefined,
    Annotated = unknown,
    const Used = Empty,
    Before = unknown,
    Taken = unknown
  >(
    this: Typed<Before, Taken>,
    pattern: Given,
    handler: (
      context: Message<
        Chosen<Data, Guarding<Scope, Used>, 'data', Annotated, 'output'>,
        Chosen<Headers, Guarding<Scope, Used>, 'headers', Message['headers'], 'output'>
      > &
        HandlerExtras<Scope, Given, Used>
    ) => unknown,
    options?: EventOptions<Scope, Data, Headers, Used>
  ): Microservice<
    Before,
    Taken & {
      readonly [Name in NameOf<Given>]: EventTypeOf<Guarding<Scope, Used>, Data, Headers, Annotated, Used>
    },
    Scope
  >

  /**
   * Includes the handlers of another service, and the hooks whose scope reaches this service. If an app is passed,
   * its decorators and store are used.
   * @throws {OptionError} both services answer the same message pattern
   */
  use<Service extends Typed & { readonly message: unknown }>(
    service: Usable<Service, ScopeOf<Service>['needs'], Scope>
  ): Microservice<
    Messages & AnswersOf<Service>,
    Events & EventsOf<Service>,
    WithService<Scope, ScopeOf<Service>>
  >
  use<App extends AnyElysia>(app: App): Microservice<Messages, Events, WithApp<Scope, App>>
  /**
   * Calls a plugin with the service, as Elysia does: `use((service) => service.message(…))`. The plugin returns the
   * service. For middleware, see `wrap`.
   * @throws {OptionError} the plugin returns something else
   */
  use<Result extends Typed>(plugin: (service: Microservice<Messages, Events, Scope>) => Result): Result
  /**
   * Adds a part, which starts and stops with the service, at its position among the start and stop hooks: the
   * relay of an outbox, or a client that handlers call. Its `start` is called before the service takes messages;
   * its `stop`, or else its `close`, when the last message has ended.
   */
  use(part: ServicePart & { readonly message?: never }): Microservice<Messages, Events, Scope>
  /**
   * Gives the error for a wrong argument. It is the last overload, because the compiler reports only the error of
   * the last overload.
   */
  use<Given>(
    wrong: Given extends Typed & { readonly message: unknown }
      ? Usable<Given, ScopeOf<Given>['needs'], Scope>
      : Given extends Middleware<ReceivedMessage>
        ? 'Middleware is given to wrap(), not to use()'
        : Given extends (...args: never) => unknown
          ? (service: Microservice<Messages, Events, Scope>) => Typed
          : ServicePart & { readonly message?: never }
  ): Microservice<Messages, Events, Scope>

  /**
   * Puts middleware around the handlers that follow, outside of all hooks: it can count or trace messages, answer them
   * itself, or give each message a store. If it stands before all handlers, it also gets the messages that nobody
   * handles. If another service uses this one, the middleware still covers only the handlers of this service.
   * @throws {OptionError} the argument is not a function. At the start, or when another service uses this one: no
   * handler follows the middleware
   */
  wrap(middleware: Middleware<ReceivedMessage>): Microservice<Messages, Events, Scope>

  /**
   * Registers handlers with a prefix: `create` in the group `orders` is `orders.create`. Hooks of the group apply
   * only to the group.
   * @throws {OptionError} the prefix has wildcards, or a pattern is neither a text nor a number
   */
  group<const Prefix extends string, Group extends Typed>(
    prefix: Prefix,
    define: (group: Microservice<NoAnswers, Empty, Grouped<Scope>>) => Group
  ): Microservice<
    Messages & PrefixedAnswers<Prefix, AnswersOf<Group>>,
    Events & Prefixed<Prefix, EventsOf<Group>>,
    Scope
  >

  /**
   * Adds schemas, hooks and macros for the handlers that follow, or only for the handlers that `define` registers.
   *
   * For the handlers that follow, a handler's own schema of data, headers or response replaces the guard's, unless
   * the guard has `schema: 'standalone'`: then both must hold. The schemas of a guard with `define`, and the schemas
   * of macros, always hold.
   * @throws {OptionError} an option is unknown or wrong
   */
  guard<
    Group extends Typed,
    Data extends AnySchema | ModelName<Scope> | undefined = undefined,
    Headers extends AnySchema | ModelName<Scope> | undefined = undefined,
    Response extends AnySchema | ModelName<Scope> | undefined = undefined,
    const Used = Empty
  >(
    options: HandlerOptions<Scope, Data, Headers, Response, Used> & { readonly schema?: 'standalone' },
    define: (
      group: Microservice<
        NoAnswers,
        Empty,
        Guarded<Grouped<Scope>, Data, Headers, Response, Used, 'local', 'standalone'>
      >
    ) => Group
  ): Microservice<Messages & AnswersOf<Group>, Events & EventsOf<Group>, Scope>
  guard<
    Data extends AnySchema | ModelName<Scope> | undefined = undefined,
    Headers extends AnySchema | ModelName<Scope> | undefined = undefined,
    Response extends AnySchema | ModelName<Scope> | undefined = undefined,
    const Used = Empty,
    As extends HookScope = 'local',
    Kind extends GuardKind = 'override'
  >(
    options: HandlerOptions<Scope, Data, Headers, Response, Used> & GuardOptions<As, Kind>
  ): Microservice<Messages, Events, Guarded<Scope, Data, Headers, Response, Used, As, Kind>>

  /**
   * Adds values to the context of handlers. Other services that are put together with this one keep their own values
   * of these names.
   * @throws {OptionError} a message already has a field of that name, or the service has another value of that name
   */
  decorate<const Name extends string, Value>(
    name: Name,
    value: Value
  ): Microservice<Messages, Events, With<Scope, 'context', { readonly [Key in Name]: Value }>>
  decorate<Values extends object>(
    values: Values
  ): Microservice<Messages, Events, With<Scope, 'context', Values>>

  /**
   * Adds values to the store, which handlers get as `store` and may change. Other services that are put together with
   * this one keep their own values of these names.
   * @throws {OptionError} the service has another value of that name
   */
  state<const Name extends string, Value>(
    name: Name,
    value: Value
  ): Microservice<Messages, Events, With<Scope, 'context', { readonly store: { [Key in Name]: Value } }>>
  state<Values extends object>(
    values: Values
  ): Microservice<Messages, Events, With<Scope, 'context', { readonly store: Values }>>

  /**
   * Adds the fields that the hook returns to the context. The hook runs before schemas are checked. An `Error` that
   * it returns is thrown.
   */
  derive<Result extends Addition>(
    hook: (context: ThrowingContext<Scope>) => Result
  ): Microservice<Messages, Events, With<Scope, 'local', Added<Result>>>
  derive<const As extends HookScope, Result extends Addition>(
    options: { readonly as: As },
    hook: (context: ThrowingContext<Scope>) => Result
  ): Microservice<Messages, Events, With<Scope, As, Added<Result>>>

  /**
   * Adds the fields that the hook returns to the context. The hook runs after schemas are checked. An `Error` that
   * it returns is thrown.
   */
  resolve<Result extends Addition>(
    hook: (context: ThrowingContext<Scope>) => Result
  ): Microservice<Messages, Events, With<Scope, 'local', Added<Result>>>
  resolve<const As extends HookScope, Result extends Addition>(
    options: { readonly as: As },
    hook: (context: ThrowingContext<Scope>) => Result
  ): Microservice<Messages, Events, With<Scope, As, Added<Result>>>

  /**
   * The hook runs before the service takes messages. `listen()` waits for the hook, and rejects with its error.
   * Hooks run one after the other, in the order of the chain; the hooks of a used service run at the position of
   * its `use`. The hook's argument has the decorators and the store. With `workers` the hook runs in each worker.
   * @example
   * ```ts
   * import { microservice } from 'elysia-microservices'
   *
   * declare const pool: { connect(): Promise<void>; end(): Promise<void> }
   *
   * const orders = microservice({ transport: 'tcp' })
   *   .decorate({ pool })
   *   .onStart(({ pool }) => pool.connect())
   *   .onStop(({ pool }) => pool.end())
   * ```
   */
  onStart(hook: (context: LifeContext<Scope>) => unknown): Microservice<Messages, Events, Scope>

  /**
   * The hook runs when the service has stopped, after its last message has ended. `stop()` waits for the hook, and
   * so does the end of the process at a signal of `shutdownOn`. All hooks together may take the time that messages
   * have left of `drain`, and at least a second. Stop hooks run one after the other, in the order of the chain. If
   * a hook throws, its error is logged and the others still run. If the start has failed, only the stop hooks
   * before the failed step run.
   */
  onStop(hook: (context: LifeContext<Scope>) => unknown): Microservice<Messages, Events, Scope>

  /** The hook runs before handlers. A result other than `undefined` is the answer, and the handler is not called. */
  onBeforeHandle(hook: (context: ThrowingContext<Scope>) => unknown): Microservice<Messages, Events, Scope>
  onBeforeHandle(
    options: { readonly as: HookScope },
    hook: (context: ThrowingContext<Scope>) => unknown
  ): Microservice<Messages, Events, Scope>

  /** The hook runs after handlers. A result other than `undefined` replaces the answer. */
  onAfterHandle(
    hook: (context: AfterContext<ThrowingContext<Scope>>) => unknown
  ): Microservice<Messages, Events, Scope>
  onAfterHandle(
    options: { readonly as: HookScope },
    hook: (context: AfterContext<ThrowingContext<Scope>>) => unknown
  ): Microservice<Messages, Events, Scope>

  /**
   * The hook runs when a schema, a hook or a handler has failed, also within a stream. A result other than
   * `undefined` is the answer. An error that the hook returns or throws replaces the original error.
   */
  onError(
    hook: (context: ErrorContext<HookContext<Scope>, Scope>) => unknown
  ): Microservice<Messages, Events, Scope>
  onError(
    options: { readonly as: HookScope },
    hook: (context: ErrorContext<HookContext<Scope>, Scope>) => unknown
  ): Microservice<Messages, Events, Scope>

  /**
   * The hook runs when a message is over: answered, failed or canceled; a stream is over after its last value. The
   * field `end` says how the message has ended. For an event the hook runs once for each handler. No answer waits
   * for the hook; its result is ignored, and its errors are logged.
   */
  onAfterResponse(
    hook: (context: EndedContext<HookContext<Scope>>) => unknown
  ): Microservice<Messages, Events, Scope>
  onAfterResponse(
    options: { readonly as: HookScope },
    hook: (context: EndedContext<HookContext<Scope>>) => unknown
  ): Microservice<Messages, Events, Scope>

  /**
   * Registers classes of errors under codes, for the handlers that follow. A caller gets such an error as an
   * `RpcError` with the code and the error's `message` and `details`. So register only classes whose messages are
   * meant for callers. Of several classes of an error, the closest one gives the code. The classes have a scope, as
   * hooks have.
   * @throws {OptionError} a code is empty, or a class is not a class
   */
  error<const Code extends string, Failure extends Error>(
    code: Code,
    type: ErrorClass<Failure>
  ): Microservice<Messages, Events, With<Scope, 'errors', { readonly [Key in Code]: Failure }>>
  error<Classes extends Readonly<Record<string, ErrorClass>>>(
    classes: Classes
  ): Microservice<Messages, Events, With<Scope, 'errors', ErrorsOf<Classes>>>
  error<const As extends HookScope, Classes extends Readonly<Record<string, ErrorClass>>>(
    options: { readonly as: As },
    classes: Classes
  ): Microservice<Messages, Events, WithErrors<Scope, ErrorsOf<Classes>, As>>

  /**
   * Gives names to hooks and schemas, which handlers and guards use as options: `{ role: 'admin' }` calls the macro
   * `role` with `'admin'`. A macro that is an object is switched on by `true`. A macro may use other macros in the
   * same way.
   * @throws {OptionError} a macro has a member that is no hook, schema or macro; of a macro that is a function the
   * handler or guard that uses it throws this error
   */
  macro<const Given extends Macros<Extras<Scope>>>(
    macros: Given & KnownMembers<Given, Scope['macros']>
  ): Microservice<Messages, Events, WithMacros<Scope, MacroTypes<Given, Scope['macros']>>>
  macro<const Name extends string, const Given extends AnyMacro<Extras<Scope>>>(
    name: Name,
    macro: Given & KnownMembers<{ readonly [Key in Name]: Given }, Scope['macros']>[Name]
  ): Microservice<
    Messages,
    Events,
    WithMacros<Scope, MacroTypes<{ readonly [Key in Name]: Given }, Scope['macros']>>
  >

  /**
   * Gives names to schemas: `data`, `headers` and `response` in the options of the handlers and guards that follow may
   * be such a name. A service that uses this one knows the names, too. A schema replaces an earlier one of its name.
   * @throws {OptionError} a value is not a schema
   * @example
   * ```ts
   * import { t } from 'elysia'
   * import { microservice } from 'elysia-microservices'
   *
   * const orders = microservice({ transport: 'tcp' })
   *   .model({ order: t.Object({ id: t.Number() }) })
   *   .message('orders.pay', ({ data }) => data.id, { data: 'order' })
   * ```
   */
  model<const Name extends string, const Schema extends AnySchema>(
    name: Name,
    schema: Schema
  ): Microservice<Messages, Events, WithModels<Scope, { readonly [Key in Name]: Schema }>>
  model<Models extends Readonly<Record<string, AnySchema>>>(
    models: Models
  ): Microservice<Messages, Events, WithModels<Scope, Models>>

  /**
   * Widens the scope of all hooks, guards and classes of errors so far: to the service that uses this one (`'scoped'`), or also to all
   * services above (`'global'`).
   */
  as<To extends 'scoped' | 'global'>(scope: To): Microservice<Messages, Events, Widened<Scope, To>>
}
