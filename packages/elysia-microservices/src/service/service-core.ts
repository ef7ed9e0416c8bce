/**
 * The handlers of a service with their hooks and schemas, in the order of their registration. As in Elysia, hooks
 * and guards apply to the handlers that are registered after them. They also apply to all controllers.
 */
import {
  type Dispatcher,
  describe,
  endedWithin,
  type HandlerFigures,
  type Logger,
  type Middleware,
  OptionError,
  type ReceivedMessage,
  type Transport,
  tracedReceived,
  wrapDispatcher
} from '@elysia-microservices/transport/kit'
import { type Controllers, startAll } from '../controller/controllers.ts'
import { describeHandler, type HandlerDescription } from '../description/description.ts'
import { Environment, type Host } from '../hooks/environment.ts'
import { type Hook, type HookOptions, type HookScope, lifted, mergeHooks } from '../hooks/hook.ts'
import { type KnownClass, knownErrors } from '../hooks/known-errors.ts'
import { checkMacros, type Macro, readOptions } from '../hooks/macro.ts'
import type { Plan } from '../hooks/pipeline.ts'
import { mustAgree } from '../hooks/streams.ts'
import { Surroundings, shareStore } from '../hooks/surroundings.ts'
import { termsOf } from '../hooks/terms.ts'
import { type HandlerPattern, type Patterns, parsePattern, patternList } from '../router/handler-pattern.ts'
import { prefixPattern } from '../router/prefix.ts'
import {
  asStandalone,
  combined,
  type MessageSchema,
  mergeSchemas,
  type SchemaOptions,
  takesStream
} from '../schema/message-schema.ts'
import { addModels, type Models, withModels } from '../schema/models.ts'
import { Handlers } from './handlers.ts'
import { Life, type LifeEnd, type ServicePart } from './life.ts'
import { messageLines } from './message-lines.ts'
import {
  durableOf,
  type Holder,
  hasParams,
  NO_WAY,
  type Origin,
  planOf,
  type Way,
  wayBehind
} from './registration.ts'
import { type Reserved, withReserved } from './reserved.ts'
import { Wraps } from './wraps.ts'

/** Options of a handler: schemas, hooks and macros. */
export type HandlerOptions = SchemaOptions & HookOptions & Readonly<Record<string, unknown>>

/** Schemas for handlers that have none of their own. */
interface Guard {
  readonly scope: HookScope
  readonly schema: MessageSchema
}

/** The transports of a service, and whether it opens them. */
export interface OwnTransports {
  readonly title: string
  readonly transports: readonly Transport[]
  isStarted(): boolean
}

/** The mutable part of a service. */
export class ServiceCore implements Holder {
  readonly environment = new Environment()
  /** The surroundings of the service's own handlers. */
  readonly #surroundings = new Surroundings(this.environment)
  readonly #handlers = new Handlers()
  readonly #macros = new Map<string, Macro>()
  readonly #models: Models = new Map()
  readonly #controllers = new Set<Controllers>()
  readonly #life = new Life(this.environment)
  #hooks: Hook[] = []
  #guards: Guard[] = []
  /** Classes of errors. Of two codes for one class the later one holds. */
  #classes: readonly KnownClass[] = []

  /** The services and groups whose handlers are included here. */
  readonly #used = new Set<ServiceCore>()
  /** The running services with these handlers: this service itself, or services that use it. */
  readonly #running = new Set<ServiceCore>()
  #drain = new AbortController()

  readonly #wraps = new Wraps()
  /** Middleware outside of `#wraps`. It is not included in a service that uses this one. */
  readonly #outermost: Middleware<ReceivedMessage>[] = []

  /** The transports of the service itself, which another service that uses this one does not open. */
  own: OwnTransports | undefined

  /** Answers the routes of the service itself. They are not included in a service that uses this one. */
  #reserved: Reserved | undefined

  /** See `service.draining`. */
  get draining(): AbortSignal {
    return this.#drain.signal
  }

  /**
   * Called when a service begins to stop, or cannot start. The services that it uses begin to stop, too, unless another
   * service that runs uses them.
   */
  beginDrain(running: ServiceCore = this): void {
    this.#running.delete(running)
    if (this.#running.size === 0) this.#drain.abort()
    for (const used of this.#used) used.beginDrain(running)
  }

  /** Called when a service starts, possibly after it has stopped. */
  endDrain(running: ServiceCore = this): void {
    this.#running.add(running)
    if (this.#drain.signal.aborted) this.#drain = new AbortController()
    for (const used of this.#used) used.endDrain(running)
  }

  /**
   * The dispatcher of all handlers, inside all middleware. @param logger gets a line for each message, if it has a
   * method `debug`
   */
  dispatcher(logger: Logger): Dispatcher {
    const lines = messageLines(logger)
    return wrapDispatcher(this.#withReserved(this.#handlers.dispatcher()), [
      ...this.#outermost,
      ...tracedReceived(this.#wraps.leading),
      ...(lines === undefined ? [] : [lines])
    ])
  }

  /** The same dispatcher, but with the routes of one transport only, if handlers are bound to transports. */
  dispatcherOf(transport: string, dispatcher: Dispatcher): Dispatcher {
    if (!this.#handlers.hasBindings) return dispatcher
    const own = this.#withReserved(this.#handlers.of(transport))
    return {
      routes: () => own.routes(),
      request: (message) => dispatcher.request(message),
      event: (message) => dispatcher.event(message)
    }
  }

  /** The dispatcher for a store beside the transports: it has the durable handlers that are bound to a transport, too. */
  ofStore(store: string, dispatcher: Dispatcher): Dispatcher {
    this.#handlers.store = store
    return this.dispatcherOf(store, dispatcher)
  }

  /**
   * Checks that the service has the transports of its bound handlers. @throws {OptionError} a handler is bound to a
   * transport that the service does not have
   */
  checkTransports(names: readonly string[]): void {
    this.#handlers.checkTransports(names)
  }

  #withReserved(handlers: Dispatcher): Dispatcher {
    return this.#reserved === undefined ? handlers : withReserved(handlers, this.#reserved)
  }

  /** Sets the routes that the service itself answers, without a handler of the user. */
  reserve(reserved: Reserved): void {
    this.#reserved = reserved
  }

  /** The descriptions of the handlers. */
  describe(): HandlerDescription[] {
    return this.#handlers.all.map((registration) => {
      const { origin, patterns } = registration
      const plan = planOf(registration)
      return describeHandler(origin, patterns, plan, knownErrors(plan.classes))
    })
  }

  /** The figures of messages; `undefined` if no middleware counts messages. */
  figures(): readonly HandlerFigures[] | undefined {
    const { leading, later } = this.#wraps
    return [...leading, ...later].find(({ figures }) => figures !== undefined)?.figures?.()
  }

  /**
   * Adds a middleware for messages that arrive at this service itself. If another service uses this one, the middleware
   * does not apply there.
   */
  addOutermost(middleware: Middleware<ReceivedMessage>): void {
    this.#outermost.push(middleware)
  }

  /** Adds a middleware for the handlers that are registered later. */
  addWrap(middleware: Middleware<ReceivedMessage>): void {
    this.#wraps.add(middleware)
  }

  /** @throws {OptionError} a middleware of the service covers no handler */
  checkWraps(): void {
    this.#wraps.check(true)
  }

  /**
   * Registers a handler with the current hooks, guards and macros.
   * @throws {OptionError} the handler, a pattern, a schema or an option is invalid
   */
  add(kind: 'message' | 'event', patterns: Patterns, handler: unknown, options: HandlerOptions = {}): void {
    const list = patternList(patterns)
    if (typeof handler !== 'function') {
      const routes = list.map((pattern) => parsePattern(pattern).route).join("', '")
      throw new OptionError(
        'handler',
        `The handler of '${routes}' must be a function, but is ${describe(handler)}`
      )
    }
    const { durable: given, timeout, idempotent, streams, ...others } = options
    const durable = durableOf(kind, given)
    const terms = termsOf(kind, handler, { timeout, idempotent, streams })
    const own = readOptions(withModels(others, this.#models), this.#macros)
    const plan = {
      handler: handler as Plan['handler'],
      hooks: mergeHooks(this.#hooks, own.hooks),
      schema: mergeSchemas(this.#guardSchema(), own.schema),
      classes: this.#classes,
      hasParams: hasParams(list)
    }
    mustAgree(terms.streams, takesStream(combined(plan.schema)))
    const covering = this.#wraps.coverNext()
    this.#register({ kind, durable, terms, plan: () => plan }, list, covering)
  }

  /**
   * Registers the handlers of controllers, which are instantiated when the service starts. Controllers have no
   * position in the chain, so all hooks and guards of the service apply to them.
   * @throws {OptionError} two handlers answer the same pattern
   */
  addControllers(controllers: Controllers): void {
    this.#controllers.add(controllers)
    const covering = this.#wraps.coverControllers()
    for (const { kind, patterns: given, handler, durable, terms, binding, schema } of controllers.handlers) {
      const patterns = patternList(given)
      const own = { handler, hasParams: hasParams(patterns) }
      const plan = () => {
        const all = mergeSchemas(this.#guardSchema(), schema)
        return { ...own, hooks: this.#hooks, schema: all, classes: this.#classes }
      }
      this.#register({ kind, durable, terms, binding, plan }, patterns, covering)
    }
  }

  /** Adds a hook for the start or the end of the service. @throws {OptionError} the hook is not a function */
  addLifeHook(kind: 'start' | 'stop', hook: unknown): void {
    this.#life.addHook(kind, hook)
  }

  /** Adds a part that starts and stops with the service. */
  addPart(part: ServicePart): void {
    this.#life.addPart(part)
  }

  /**
   * Runs the start hooks, then instantiates the controllers. If either fails, what has been started is stopped
   * again.
   */
  async start(end: LifeEnd): Promise<void> {
    try {
      shareStore(this.environment)
      await this.#life.start()
      if (this.#controllers.size > 0) await startAll([...this.#controllers])
    } catch (error) {
      await this.#life.stop(end)
      throw error
    }
  }

  /** Stops the controllers, then runs the stop hooks. */
  async stop(end: LifeEnd): Promise<void> {
    try {
      const stopped = Promise.all([...this.#controllers].map((controllers) => controllers.stop()))
      if (!(await endedWithin(stopped, end.time)))
        end.logger.warn(
          `${end.title} stops without waiting longer for the stop hooks of its controllers, which have not ended within ${end.time} ms`
        )
    } finally {
      await this.#life.stop(end)
    }
  }

  /** Adds a hook for handlers that are registered later. */
  addHook(hook: Hook): void {
    this.#hooks = mergeHooks(this.#hooks, [hook])
  }

  /**
   * Adds hooks and schemas for handlers that are registered later.
   * @param isStandalone whether the schemas hold beside a handler's own, which otherwise replaces them
   */
  addGuard(options: HandlerOptions, scope: HookScope, isStandalone: boolean): void {
    const { hooks, schema } = readOptions(withModels(options, this.#models), this.#macros)
    this.#hooks = mergeHooks(
      this.#hooks,
      hooks.map((hook) => ({ ...hook, scope }))
    )
    this.#guards.push({ scope, schema: isStandalone ? asStandalone(schema) : schema })
  }

  /** Adds classes of errors for handlers that are registered later. */
  addClasses(classes: readonly KnownClass[]): void {
    this.#classes = [...this.#classes, ...classes]
  }

  /**
   * Adds macros. A macro replaces an earlier macro of the same name.
   * @throws {OptionError} a macro has a member that is no hook, schema or macro
   */
  addMacros(macros: Readonly<Record<string, Macro>>): void {
    const all = new Map([...this.#macros, ...Object.entries(macros)])
    checkMacros(macros, all)
    for (const [name, macro] of all) this.#macros.set(name, macro)
  }

  /** Gives names to schemas, for handlers and guards that follow. @throws {OptionError} a value is not a schema */
  addModels(models: Readonly<Record<string, unknown>>): void {
    addModels(this.#models, models)
  }

  /** Widens the scope of all hooks, guards and classes of errors that have been added so far. */
  widen(scope: 'scoped' | 'global'): void {
    const wider = <Scoped extends { readonly scope: HookScope }>(item: Scoped): Scoped =>
      item.scope === 'global' ? item : { ...item, scope }
    this.#hooks = this.#hooks.map(wider)
    this.#guards = byScope(this.#guards).map(wider)
    this.#classes = this.#classes.map(wider)
  }

  /** Includes all handlers of another service, and the hooks, guards and classes whose scope reaches this service. */
  include(other: ServiceCore): void {
    this.#adopt(other, (pattern) => pattern)
    this.environment.useService(other.environment)
    // As in Elysia, a macro of the used service replaces one of the same name, for the handlers that follow.
    for (const [name, macro] of other.#macros) this.#macros.set(name, macro)
    for (const [name, schema] of other.#models) this.#models.set(name, schema)
    this.#hooks = mergeHooks(this.#hooks, lifted(other.#hooks))
    this.#guards.push(...lifted(other.#guards))
    // The service's own code for a class stands behind, so that it holds.
    this.#classes = [...lifted(other.#classes), ...this.#classes]
  }

  /**
   * Includes all handlers of a group, with a prefix before their patterns, and nothing else of the group.
   * @throws {OptionError} a pattern is neither a text nor a number
   */
  includeGroup(group: ServiceCore, prefix?: string): void {
    this.#adopt(
      group,
      prefix === undefined ? (pattern) => pattern : (pattern) => prefixPattern(prefix, pattern)
    )
  }

  /** Makes the core of a group. The group gets the macros and named schemas now, and the hooks when its handlers are included. */
  newGroup(): ServiceCore {
    const group = new ServiceCore()
    for (const [name, macro] of this.#macros) group.#macros.set(name, macro)
    for (const [name, schema] of this.#models) group.#models.set(name, schema)
    return group
  }

  /** Uses the decorators and the store of the app in which the service is used. */
  join(host: Host): void {
    this.environment.join(host)
    this.compileAll()
  }

  /** Compiles all handlers again, with the current hooks, decorators and store. */
  compileAll(): void {
    this.#handlers.compileAll()
  }

  #adopt(other: ServiceCore, rename: (pattern: HandlerPattern) => HandlerPattern): void {
    if (other === this || other.#uses(this))
      throw new OptionError('The argument of use()', 'A service cannot use itself, or a service that uses it')
    other.#wraps.check(false)
    const used = new Set<Holder>(this.#allUsed())
    this.#used.add(other)
    this.#life.include(other.#life)
    for (const controllers of other.#controllers) this.#controllers.add(controllers)
    const covering = other.#handlers.all.length > 0 ? this.#wraps.coverNext() : []
    const before: Way = {
      hooks: this.#hooks,
      schemas: byScope(this.#guards).map(({ schema }) => schema),
      classes: this.#classes,
      middleware: [() => covering, () => other.#wraps.leading],
      through: [other]
    }
    let isAgain = false
    for (const { origin, patterns: given, surroundings, ways: inner } of other.#handlers.all) {
      const patterns = given.map(rename)
      const ways = inner.map((way) => wayBehind(before, way, (service) => used.has(service)))
      if (this.#handlers.addWays(origin, patterns, ways)) isAgain = true
      else this.#handlers.add({ origin, patterns, ways, surroundings: surroundings.within(this.environment) })
    }
    if (isAgain) this.compileAll()
  }

  #register(
    origin: Origin,
    patterns: readonly HandlerPattern[],
    covering: readonly Middleware<ReceivedMessage>[]
  ): void {
    const way = { ...NO_WAY, middleware: [() => covering] }
    this.#handlers.add({ origin, patterns, surroundings: this.#surroundings, ways: [way] })
  }

  #uses(other: ServiceCore): boolean {
    return this.#allUsed().includes(other)
  }

  /** The transports of the services that this one uses, at any depth. */
  ownOfUsed(): OwnTransports[] {
    return [...new Set(this.#allUsed())].flatMap(({ own }) => own ?? [])
  }

  /** The services and groups that this one uses, at any depth. */
  #allUsed(): ServiceCore[] {
    return [...this.#used].flatMap((used) => [used, ...used.#allUsed()])
  }

  has(part: Hook['run'] | MessageSchema | KnownClass): boolean {
    return (
      this.#hooks.some(({ run }) => run === part) ||
      this.#guards.some(({ schema }) => schema === part) ||
      this.#classes.some(({ code, type }) => 'type' in part && type === part.type && code === part.code)
    )
  }

  #guardSchema(): MessageSchema {
    return mergeSchemas(...byScope(this.#guards).map(({ schema }) => schema))
  }
}

/** Sorts guards: as in Elysia, a schema of a narrower scope replaces one of a wider scope. */
function byScope(guards: readonly Guard[]): Guard[] {
  const scopes: readonly HookScope[] = ['global', 'scoped', 'local']
  return scopes.flatMap((wanted) => guards.filter(({ scope }) => scope === wanted))
}
