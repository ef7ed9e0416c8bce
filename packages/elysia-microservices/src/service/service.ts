/**
 * The type of a service, and how each call of the chain changes it. The context of handlers is written out in each
 * method, because editors would show an alias by its name and all its arguments.
 *
 * `message` and `event` infer the patterns before them from `this`. The compiler goes through all of a type that stands
 * in a generic method at each call, but not through a type that it infers: with `Messages` in the methods, a chain of n
 * patterns would cost it the square of n.
 */
import type { Around, ReceivedMessage } from '@elysia-microservices/transport'
import type { AnyElysia } from 'elysia'
import type { HookScope } from '../hooks/hook.ts'
import type { ErrorClass } from '../hooks/known-errors.ts'
import type { Patterns } from '../router/handler-pattern.ts'
import type { AnySchema } from '../schema/schema-types.ts'
import type { AnswersOf, EventsOf, ScopeOf } from '../types/carried.ts'
import type { ErrorsFor } from '../types/errors.ts'
import type {
  Added,
  Addition,
  AfterContext,
  EndedContext,
  ErrorContext,
  ErrorsOf,
  EventOptions,
  HandlerOptions,
  HookContext,
  LifeContext,
  ThrowingContext
} from '../types/hooks.ts'
import type { Macros, MacroTypes } from '../types/macro.ts'
import type { Message } from '../types/message.ts'
import type { NameOf, Prefixed } from '../types/pattern.ts'
import type { Running } from '../types/running.ts'
import type {
  Complete,
  ContextOf,
  Empty,
  EmptyScope,
  Extras,
  ScopeTypes,
  Usable,
  Widened,
  With,
  WithService
} from '../types/scope.ts'
import type {
  Answers,
  Chosen,
  EventTypeOf,
  HandlerExtras,
  MessageTypeOf,
  NoAnswers,
  PrefixedAnswers,
  Returned,
  StreamOf,
  Typed
} from '../types/service.ts'
import type { Guarded, SchemasWith } from '../types/used-macros.ts'
import type { ServicePart } from './life.ts'

/**
 * Any service: what helpers take that listen to one, stop it or look at it.
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
 * A service: handlers of message and event patterns. It is an Elysia plugin (`app.use(service)`), and its
 * type tells `connect<typeof service>()` what callers may ask.
 */
export interface Microservice<Messages = Empty, Events = Empty, Scope extends ScopeTypes = EmptyScope>
  extends Typed<Messages, Events, Scope>,
    Running {
  /** The plugin itself: Elysia calls it in `app.use(service)`. Handlers get the app's decorators and store. */
  <App extends AnyElysia>(app: App & Complete<Scope>): App

  /**
   * Starts all transports, without an app or before the app does. If one cannot start, none stays started. Does
   * nothing if the service listens already. In a supervisor it resolves when all workers listen. A service that needs
   * what another one adds (`microservice<typeof auth>()`) cannot listen by itself, which the compiler says.
   * @throws {ListenError} the port is taken or not allowed
   * @throws {WorkerError} a worker cannot start; then no process is left
   */
  listen(this: Complete<Scope>): Promise<this>

  /**
   * Answers requests of a pattern with what the handler returns: a value, or a promise, Observable or (async)
   * iterator of values.
   * @throws {OptionError} the pattern has a handler already, or the pattern or an option is invalid
   */
  message<
    const Given extends Patterns,
    Result extends Returned<SchemasWith<Scope['schema'], Scope['macros'], Used>, Response>,
    Data extends AnySchema | undefined = undefined,
    Headers extends AnySchema | undefined = undefined,
    Response extends AnySchema | undefined = undefined,
    Annotated = unknown,
    const Used = Empty,
    Before = unknown,
    Taken = unknown
  >(
    this: Typed<Before, Taken>,
    pattern: Given,
    handler: (
      context: Message<
        Chosen<Data, SchemasWith<Scope['schema'], Scope['macros'], Used>['data'], Annotated, 'output'>,
        Chosen<
          Headers,
          SchemasWith<Scope['schema'], Scope['macros'], Used>['headers'],
          Message['headers'],
          'output'
        >
      > &
        HandlerExtras<Scope, Given, Used>
    ) => Result,
    options?: HandlerOptions<Scope, Data, Headers, Response, Used>
  ): Microservice<
    Before &
      Answers<
        NameOf<Given>,
        MessageTypeOf<
          SchemasWith<Scope['schema'], Scope['macros'], Used>,
          Data,
          Headers,
          Response,
          Annotated,
          Result,
          ErrorsFor<Scope, Used>
        >,
        StreamOf<Result>
      >,
    Taken,
    Scope
  >

  /**
   * Takes events of a pattern. All handlers whose pattern matches run; a handler that fails does not stop the others.
   * @throws {OptionError} the pattern or an option is invalid
   */
  event<
    const Given extends Patterns,
    Data extends AnySchema | undefined = undefined,
    Headers extends AnySchema | undefined = undefined,
    Annotated = unknown,
    const Used = Empty,
    Before = unknown,
    Taken = unknown
  >(
    this: Typed<Before, Taken>,
    pattern: Given,
    handler: (
      context: Message<
        Chosen<Data, SchemasWith<Scope['schema'], Scope['macros'], Used>['data'], Annotated, 'output'>,
        Chosen<
          Headers,
          SchemasWith<Scope['schema'], Scope['macros'], Used>['headers'],
          Message['headers'],
          'output'
        >
      > &
        HandlerExtras<Scope, Given, Used>
    ) => unknown,
    options?: EventOptions<Scope, Data, Headers, Used>
  ): Microservice<
    Before,
    Taken & {
      readonly [Name in NameOf<Given>]: EventTypeOf<
        SchemasWith<Scope['schema'], Scope['macros'], Used>,
        Data,
        Headers,
        Annotated
      >
    },
    Scope
  >

  /**
   * Takes over the handlers of another service, and the hooks whose scope reaches this one; of an app, its decorators
   * and its store.
   * @throws {OptionError} both answer the same message pattern
   */
  use<Service extends Typed & { readonly message: unknown }>(
    service: Usable<Service, ScopeOf<Service>['needs'], Scope>
  ): Microservice<
    Messages & AnswersOf<Service>,
    Events & EventsOf<Service>,
    WithService<Scope, ScopeOf<Service>>
  >
  use<App extends AnyElysia>(app: App): Microservice<Messages, Events, With<Scope, 'context', ContextOf<App>>>
  /**
   * Adds an around for all messages of the service, wherever it stands in the chain: for counting, tracing, a store
   * for each message. In a service that uses this one, it stands around the handlers that come from here.
   *
   * Or starts and stops something with the service, at its place among the start and stop hooks: a relay of an outbox, a
   * client that handlers call. Its `start` is called before the service takes messages, its `stop`, or else its
   * `close`, when the last message has ended.
   */
  use(
    addition: Around<ReceivedMessage> | (ServicePart & { readonly message?: never })
  ): Microservice<Messages, Events, Scope>
  /** Says what is wrong: the compiler tells of the last of several forms alone. */
  use<Given>(
    wrong: Given extends Typed & { readonly message: unknown }
      ? Usable<Given, ScopeOf<Given>['needs'], Scope>
      : Around<ReceivedMessage> | (ServicePart & { readonly message?: never })
  ): Microservice<Messages, Events, Scope>

  /**
   * Registers handlers behind a prefix: `create` in the group `orders` is `orders.create`. Hooks of the group apply
   * only to the group.
   * @throws {OptionError} the prefix has wildcards, or a pattern is neither a text nor a number
   */
  group<const Prefix extends string, Group extends Typed>(
    prefix: Prefix,
    define: (group: Microservice<NoAnswers, Empty, Scope>) => Group
  ): Microservice<
    Messages & PrefixedAnswers<Prefix, AnswersOf<Group>>,
    Events & Prefixed<Prefix, EventsOf<Group>>,
    Scope
  >

  /**
   * Adds schemas, hooks and macros for the handlers that follow, or only for the handlers that `define` registers. A
   * handler's own schema replaces the guard's.
   */
  guard<
    Group extends Typed,
    Data extends AnySchema | undefined = undefined,
    Headers extends AnySchema | undefined = undefined,
    Response extends AnySchema | undefined = undefined,
    const Used = Empty
  >(
    options: HandlerOptions<Scope, Data, Headers, Response, Used>,
    define: (
      group: Microservice<NoAnswers, Empty, Guarded<Scope, Data, Headers, Response, Used, 'local'>>
    ) => Group
  ): Microservice<Messages & AnswersOf<Group>, Events & EventsOf<Group>, Scope>
  guard<
    Data extends AnySchema | undefined = undefined,
    Headers extends AnySchema | undefined = undefined,
    Response extends AnySchema | undefined = undefined,
    const Used = Empty,
    As extends HookScope = 'local'
  >(
    options: HandlerOptions<Scope, Data, Headers, Response, Used> & { readonly as?: As }
  ): Microservice<Messages, Events, Guarded<Scope, Data, Headers, Response, Used, As>>

  /**
   * Adds values to the context of handlers.
   * @throws {OptionError} a message has a field of that name
   */
  decorate<const Name extends string, Value>(
    name: Name,
    value: Value
  ): Microservice<Messages, Events, With<Scope, 'context', { readonly [Key in Name]: Value }>>
  decorate<Values extends object>(
    values: Values
  ): Microservice<Messages, Events, With<Scope, 'context', Values>>

  /** Adds values to the store, which handlers get as `store` and may change. */
  state<const Name extends string, Value>(
    name: Name,
    value: Value
  ): Microservice<Messages, Events, With<Scope, 'context', { readonly store: { [Key in Name]: Value } }>>
  state<Values extends object>(
    values: Values
  ): Microservice<Messages, Events, With<Scope, 'context', { readonly store: Values }>>

  /** Adds the fields that the hook returns to the context; runs before schemas. A returned `Error` is thrown. */
  derive<Result extends Addition>(
    hook: (context: ThrowingContext<Scope>) => Result
  ): Microservice<Messages, Events, With<Scope, 'local', Added<Result>>>
  derive<const As extends HookScope, Result extends Addition>(
    options: { readonly as: As },
    hook: (context: ThrowingContext<Scope>) => Result
  ): Microservice<Messages, Events, With<Scope, As, Added<Result>>>

  /** Adds the fields that the hook returns to the context; runs after schemas. A returned `Error` is thrown. */
  resolve<Result extends Addition>(
    hook: (context: ThrowingContext<Scope>) => Result
  ): Microservice<Messages, Events, With<Scope, 'local', Added<Result>>>
  resolve<const As extends HookScope, Result extends Addition>(
    options: { readonly as: As },
    hook: (context: ThrowingContext<Scope>) => Result
  ): Microservice<Messages, Events, With<Scope, As, Added<Result>>>

  /**
   * Runs before the service takes messages; `listen()` waits for it, and rejects with what it throws. Hooks run one
   * after the other, in the order of the chain, those of services that this one uses in their place. It gets the
   * decorators and the store. With `workers` it runs in each worker.
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
   * Runs when the service has stopped: its last message has ended. `stop()` waits for it, and so does the end of the
   * process at a signal of `shutdownOn`: all together for what messages have left of `drain`, and a second at least.
   * Stop hooks run one after the other, in the order of the chain. What one throws is logged, and the others run. If
   * the start fails, those run that stand before what has failed.
   */
  onStop(hook: (context: LifeContext<Scope>) => unknown): Microservice<Messages, Events, Scope>

  /** Runs before handlers. A result other than `undefined` is the answer, and the handler is not called. */
  onBeforeHandle(hook: (context: ThrowingContext<Scope>) => unknown): Microservice<Messages, Events, Scope>
  onBeforeHandle(
    options: { readonly as: HookScope },
    hook: (context: ThrowingContext<Scope>) => unknown
  ): Microservice<Messages, Events, Scope>

  /** Runs after handlers. A result other than `undefined` replaces the answer. */
  onAfterHandle(
    hook: (context: AfterContext<ThrowingContext<Scope>>) => unknown
  ): Microservice<Messages, Events, Scope>
  onAfterHandle(
    options: { readonly as: HookScope },
    hook: (context: AfterContext<ThrowingContext<Scope>>) => unknown
  ): Microservice<Messages, Events, Scope>

  /**
   * Runs when a schema, a hook or a handler failed, in a stream too. A result other than `undefined` is the answer;
   * an error that it returns or throws replaces the error.
   */
  onError(
    hook: (context: ErrorContext<HookContext<Scope>, Scope>) => unknown
  ): Microservice<Messages, Events, Scope>
  onError(
    options: { readonly as: HookScope },
    hook: (context: ErrorContext<HookContext<Scope>, Scope>) => unknown
  ): Microservice<Messages, Events, Scope>

  /**
   * Runs when a message is over, whether it was answered, failed or was given up; a stream is over after its last
   * value. `end` says how. It runs once for each handler of an event. Its result is ignored, what it throws is
   * logged, and no answer waits for it.
   */
  onAfterResponse(
    hook: (context: EndedContext<HookContext<Scope>>) => unknown
  ): Microservice<Messages, Events, Scope>
  onAfterResponse(
    options: { readonly as: HookScope },
    hook: (context: EndedContext<HookContext<Scope>>) => unknown
  ): Microservice<Messages, Events, Scope>

  /**
   * Registers classes of errors under codes. A caller gets such an error as an `RpcError` with the code, its message
   * and its `details`, so register only classes whose messages are meant for callers.
   */
  error<const Code extends string, Failure extends Error>(
    code: Code,
    type: ErrorClass<Failure>
  ): Microservice<Messages, Events, With<Scope, 'errors', { readonly [Key in Code]: Failure }>>
  error<Classes extends Readonly<Record<string, ErrorClass>>>(
    classes: Classes
  ): Microservice<Messages, Events, With<Scope, 'errors', ErrorsOf<Classes>>>

  /**
   * Gives names to hooks and schemas, which handlers and guards use as options: `{ role: 'admin' }` calls the macro
   * `role` with `'admin'`; a macro that is an object is switched on by `true`.
   */
  macro<const Given extends Macros<Extras<Scope>>>(
    macros: Given
  ): Microservice<Messages, Events, With<Scope, 'macros', MacroTypes<Given>>>

  /**
   * Widens the scope of all hooks and guards so far: to the service that uses this one (`'scoped'`), or to all
   * services above (`'global'`).
   */
  as<To extends 'scoped' | 'global'>(scope: To): Microservice<Messages, Events, Widened<Scope, To>>
}
