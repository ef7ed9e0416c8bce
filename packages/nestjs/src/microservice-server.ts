/** A strategy for Nest applications: servers of this library call Nest's handlers. */
import {
  type Address,
  announce,
  bySpecificity,
  type Dispatcher,
  Dispatchers,
  type DispatchSettings,
  hasWildcards,
  type IncomingMessage,
  isInDevelopment,
  loggerOf,
  OptionError,
  PatternNotFoundError,
  type Route,
  routeMatches,
  type ServerTransport,
  tracedReceived,
  VIA_PLAIN,
  wrapDispatcher
} from '@elysia-microservices/transport/kit'
import {
  answerByEventHandlers,
  type GrpcForm,
  grpcFormOf,
  nestTransportOf
} from '@elysia-microservices/transport/nest'
import { Logger } from '@nestjs/common'
import {
  type CustomTransportStrategy,
  type MessageHandler,
  type MsPattern,
  Server,
  Transport
} from '@nestjs/microservices'
import { Description } from './description.ts'
import { directCallOf, findDirectHandlers } from './direct-handlers.ts'
import { checkAlone, checkNotDurable, durableOf, viaOfHandler } from './durable.ts'
import { EventHandlers } from './event-handlers.ts'
import { answerGrpc, type GrpcHooks } from './grpc-handlers.ts'
import {
  answerBy,
  answerDirect,
  answerInHooks,
  type InHooks,
  runEventHandlers,
  runEventInHooks,
  streamOrValue
} from './handler-calls.ts'
import { Listeners } from './listeners.ts'
import { MicroserviceContext } from './microservice-context.ts'
import { nestLogger } from './nest-logger.ts'
import {
  type MicroserviceServerEvents,
  type MicroserviceServerOptions,
  type MicroserviceStatus,
  serverOptions,
  warnOfUnknown
} from './options.ts'

/**
 * Answers a Nest application's patterns over the transports of this library. Default: TCP. Pass it as `strategy` to
 * `createMicroservice` or `connectMicroservice`.
 * @example
 * ```ts
 * import { MicroserviceServer } from '@elysia-microservices/nestjs'
 * import { NestFactory } from '@nestjs/core'
 *
 * class AppModule {}
 * const strategy = new MicroserviceServer({ port: 4000 })
 * await (await NestFactory.createMicroservice(AppModule, { strategy })).listen()
 * ```
 */
export class MicroserviceServer
  extends Server<MicroserviceServerEvents, MicroserviceStatus>
  implements CustomTransportStrategy
{
  /** Handlers that are bound to Nest's transport with this name are bound to this server. */
  override transportId: Transport | symbol
  protected override readonly logger = new Logger(MicroserviceServer.name)
  readonly #servers: readonly ServerTransport[]
  readonly #settings: DispatchSettings
  /** The dispatchers, while the server listens. */
  #dispatchers: Dispatchers | undefined
  /** Answers questions of `elysia-microservices dev`; without that command it is not used. */
  readonly #description: Description | undefined
  /**
   * Transports on which `*` and `>` in Nest's patterns are wildcards; on other transports they are ordinary characters.
   */
  readonly #withWildcards: Set<string>
  readonly #drain: number
  readonly #events = new EventHandlers()
  /** Identifies the deliveries that each event handler gets. */
  readonly #vias = new WeakMap<MessageHandler, string>()
  /** The handlers of Nest's decorators for gRPC, which get other arguments. */
  readonly #grpc = new WeakMap<MessageHandler, GrpcForm>()
  readonly #listeners = new Listeners<MicroserviceServerEvents>(['listening', 'close', 'error'], (error) =>
    this.logger.error(error)
  )
  readonly #log: ReturnType<typeof loggerOf>
  readonly #noStartHook = this.onProcessingStartHook
  #starting: Promise<void> | undefined
  /** Aborts when the server is closed. */
  #leaving = new AbortController()
  #isListening = false
  #closing: Promise<void> | undefined

  /** @throws {OptionError} an option is invalid, or is an option of Nest that has no effect here */
  constructor(options: MicroserviceServerOptions = {}) {
    super()
    findDirectHandlers()
    const { transports, store, name, group, drain, logger: given, unknown } = serverOptions(options)
    const logger = loggerOf(given ?? nestLogger(this.logger))
    warnOfUnknown(unknown, logger)
    this.#log = logger
    const context = { name, group, version: undefined, logger }
    const servers = transports.map((transport) => transport.server(context))
    const storing = store && { store, server: store.server(context) }
    this.#settings = { name, group, transports, storing, logger }
    this.#servers = storing === undefined ? servers : [...servers, storing.server]
    this.transportId = nestTransportOf(this.#servers[0]?.name ?? 'tcp') ?? Transport.TCP
    const withWildcards = transports.filter(({ traits }) => traits.wildcards)
    this.#withWildcards = new Set(withWildcards.map((transport) => transport.name))
    if (store?.stores.wildcards === true) this.#withWildcards.add(store.name)
    this.#drain = drain
    this.#description = isInDevelopment() ? new Description(name) : undefined
  }

  /** The address of the first transport that has an address; `undefined` while no transport listens. */
  get address(): Address | undefined {
    return this.#servers.find(({ address }) => address !== undefined)?.address
  }

  /** Starts to listen, and then calls back; if it cannot listen, with a `ListenError`. Called by Nest. */
  listen(callback: (error?: unknown) => void): void {
    this.#closing = undefined
    this.#leaving = new AbortController()
    const dispatcher: Dispatcher = {
      routes: () => [...this.#routes(), ...(this.#description?.routes ?? [])],
      request: (message) =>
        this.#description?.isAsked(message.route) === true
          ? this.#description.answer(this.#isListening, this.#servers, this.#routes())
          : this.#request(message),
      event: (message) => this.#event(message)
    }
    this.#starting = this.#start(dispatcher)
    this.#starting.then(
      () => {
        this._status$.next('connected')
        this.#listeners.emit('listening')
        announce(this.#settings, this.#servers)
        callback()
      },
      (error: Error) => {
        this._status$.next('disconnected')
        this.#listeners.emit('error', error)
        callback(error)
      }
    )
  }

  /** Takes no new connections, waits for messages in flight (see `drain`), and closes. Called by Nest. */
  close(): Promise<void> {
    this.#closing ??= this.#stop()
    return this.#closing
  }

  /**
   * Registers a callback.
   * @throws {OptionError} the event is unknown
   */
  on<
    EventKey extends keyof MicroserviceServerEvents = keyof MicroserviceServerEvents,
    EventCallback extends MicroserviceServerEvents[EventKey] = MicroserviceServerEvents[EventKey]
  >(event: EventKey, callback: EventCallback): void {
    this.#listeners.add(event, callback)
  }

  /**
   * Returns the server of the first transport.
   * @throws {Error} the server does not listen
   */
  unwrap<T = ServerTransport>(): T {
    if (!this.#isListening)
      throw new Error(
        'Not initialized. Please call the "listen"/"startAllMicroservices" method before accessing the server.'
      )
    return this.#servers[0] as T
  }

  /**
   * Registers a handler. Called by Nest for each handler.
   * @throws {OptionError} the pattern is a RegExp, which only Nest's Kafka transport supports, or `durable` is invalid
   */
  override addHandler(
    pattern: unknown,
    callback: MessageHandler,
    isEventHandler = false,
    extras: Record<string, unknown> = {}
  ): void {
    if (pattern instanceof RegExp) {
      throw new OptionError(
        'pattern',
        `The pattern ${pattern} is a RegExp, which only Nest's Kafka transport supports: bind its handler to Transport.KAFKA in its decorator`
      )
    }
    const route = this.normalizePattern(pattern as MsPattern)
    callback.isEventHandler = isEventHandler
    callback.extras = extras
    const form = grpcFormOf(pattern)
    if (form !== undefined) this.#grpc.set(callback, form)
    if (isEventHandler) this.#vias.set(callback, viaOfHandler(route, callback))
    else checkNotDurable(route, callback)
    const present = this.messageHandlers.get(route)
    if (isEventHandler && present !== undefined)
      checkAlone(route, callback, this.#eventHandlersAt(route, present))
    if (isEventHandler) this.#events.add(route, callback)
    else if (present !== undefined && !present.isEventHandler)
      this.logger.warn(`Two handlers of the message pattern ${route}: the later one answers, as in Nest`)
    if (!isEventHandler || present === undefined) this.messageHandlers.set(route, callback)
  }

  async #stop(): Promise<void> {
    this.#leaving.abort()
    const started = await this.#starting?.then(
      () => true,
      () => false
    )
    // If the start has failed, the caller of `listen` was told, and there is nothing to stop.
    if (started !== true) return
    this.#isListening = false
    await Promise.all(this.#servers.map((server) => server.stop({ drain: this.#drain })))
    await this.#dispatchers?.close()
    this._status$.next('disconnected')
    this.#listeners.emit('close')
  }

  /** Starts all transports. If one fails, the others are stopped again. */
  async #start(handlers: Dispatcher): Promise<void> {
    const started: ServerTransport[] = []
    try {
      const dispatchers = new Dispatchers(handlers, this.#settings)
      this.#dispatchers = dispatchers
      for (const [server, dispatcher] of dispatchers.of(this.#servers)) {
        await server.start(wrapDispatcher(dispatcher, tracedReceived([])), this.#leaving.signal)
        started.push(server)
      }
      await dispatchers.started()
      for (const server of started) server.begin?.()
      this.#isListening = true
    } catch (error) {
      await Promise.all([...started.map((server) => server.stop({ drain: 0 })), this.#dispatchers?.close()])
      throw error
    }
  }

  #routes(): readonly Route[] {
    return [...this.messageHandlers].flatMap(([route, first]): Route[] => {
      const byVia = new Map<string, Route>()
      for (const handler of this.#eventHandlersAt(route, first)) {
        const durable = durableOf(handler)
        byVia.set(viaOfHandler(route, handler), { kind: 'event', route, durable })
      }
      return first.isEventHandler ? [...byVia.values()] : [{ kind: 'message', route }, ...byVia.values()]
    })
  }

  /** The event handlers of a pattern, whose first handler may be a message handler. */
  #eventHandlersAt(route: string, first: MessageHandler): readonly MessageHandler[] {
    return this.#events.ofRoute(route) ?? (first.isEventHandler ? [first] : [])
  }

  #request(message: IncomingMessage): unknown {
    const handler = this.#handlerOf(message)
    if (handler === undefined) throw PatternNotFoundError.of(message.pattern)
    const form = this.#grpc.get(handler)
    if (form !== undefined)
      return answerGrpc(form, handler, message, this.#isHooked ? this.#hooksFor(message) : undefined)
    const direct = this.#isHooked ? undefined : directCallOf(handler)
    if (direct !== undefined) return answerDirect(direct, message, this.#log)
    const context = new MicroserviceContext(message, this.#log)
    const { data } = message
    const answering = handler.isEventHandler === true ? this.#answeringByEvents(handler) : handler
    if (!this.#isHooked) return answerBy(answering, data, context)
    return answerInHooks(this.#hooksOf(context), context, () => answering(data, context))
  }

  /** The handlers of an event, as the one that answers requests to its pattern. */
  #answeringByEvents(first: MessageHandler): MessageHandler {
    const handlers = this.#events.ofFirst(first)
    return (data, context) =>
      answerByEventHandlers(
        handlers.map((each) => () => streamOrValue(each(data, context)))
      ) as Promise<unknown>
  }

  #event(message: IncomingMessage): void | Promise<void> {
    const handlers = this.#eventHandlersOf(message)?.filter((handler) => this.#isMeant(handler, message))
    if (handlers === undefined || handlers.length === 0) throw PatternNotFoundError.of(message.pattern)
    const context = new MicroserviceContext(message, this.#log)
    const { data } = message
    if (!this.#isHooked) return runEventHandlers(handlers, data, context)
    return runEventInHooks(this.#hooksOf(context), () => runEventHandlers(handlers, data, context))
  }

  /**
   * Finds a handler: first by the message's route, which is also Nest's key; then by patterns with wildcards, on a
   * transport that has them; then by Nest's own method, which a subclass may override.
   */
  #handlerOf({ route, pattern, transport, matched }: IncomingMessage): MessageHandler | undefined {
    const handler =
      this.messageHandlers.get((matched ?? route) as string) ?? this.#byWildcards(transport, route)[0]?.[1]
    // A message without a pattern has the text 'undefined' as its pattern; no handler may be found by that text.
    if (handler !== undefined || (route === undefined && pattern === 'undefined')) return handler
    return this.getHandlerByPattern(pattern) ?? undefined
  }

  /** Whether a handler may get the message: a delivery is only for the durable handlers of one group and pattern. */
  #isMeant(handler: MessageHandler, { via }: IncomingMessage): boolean {
    if (via === undefined) return true
    if (via === VIA_PLAIN) return durableOf(handler) === undefined
    return via === this.#vias.get(handler)
  }

  #eventHandlersOf(message: IncomingMessage): readonly MessageHandler[] | undefined {
    const handlers = this.#events.ofRoute(message.matched ?? message.route)
    const others = this.#byWildcards(message.transport, message.route).flatMap(([pattern, first]) =>
      this.#eventHandlersAt(pattern, first)
    )
    if (others.length > 0) return [...(handlers ?? []), ...others]
    if (handlers !== undefined) return handlers
    const handler = this.#handlerOf(message)
    return handler === undefined ? undefined : this.#events.ofFirst(handler)
  }

  /** Returns the patterns with wildcards that match a route, with their first handlers, the most specific first. */
  #byWildcards(transport: string, route: string | undefined): readonly (readonly [string, MessageHandler])[] {
    if (route === undefined || !this.#withWildcards.has(transport)) return []
    return [...this.messageHandlers]
      .filter(([pattern]) => pattern !== route && hasWildcards(pattern) && routeMatches(pattern, route))
      .sort(([one], [other]) => bySpecificity(one, other))
  }

  /** Whether hooks are set, for example by an instrumentation. Messages without hooks are handled in a faster way. */
  get #isHooked(): boolean {
    return this.onProcessingStartHook !== this.#noStartHook || this.onProcessingEndHook !== undefined
  }

  #hooksFor(message: IncomingMessage): GrpcHooks {
    const context = new MicroserviceContext(message, this.#log)
    return { context, inHooks: this.#hooksOf(context) }
  }

  #hooksOf(context: MicroserviceContext): InHooks {
    return (work) => this.runWithProcessingHooks(context, work)
  }
}
