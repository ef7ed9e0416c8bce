/** The strategy: our TCP server in the place of Nest's, under Nest's handlers. */
import {
  type Dispatcher,
  type IncomingMessage,
  NO_HANDLER,
  type SocketAddress,
  TcpServer,
  ValidationError
} from '@elysia-microservices/transport'
import { Logger } from '@nestjs/common'
import {
  type CustomTransportStrategy,
  type MessageHandler,
  type MsPattern,
  Server,
  Transport
} from '@nestjs/microservices'
import { answerByEventHandlers, EventHandlers } from './event-handlers.ts'
import { answerInHooks, answerTo, type InHooks, runEventHandlers, runEventInHooks } from './handler-calls.ts'
import { Listeners } from './listeners.ts'
import { MicroserviceContext } from './microservice-context.ts'
import { nestLogger } from './nest-logger.ts'
import {
  type MicroserviceServerEvents,
  type MicroserviceServerOptions,
  type MicroserviceStatus,
  splitServerOptions
} from './options.ts'

/**
 * Answers a Nest application's patterns over our transport: Nest's TCP wire and RSocket on one port. Give it as
 * `strategy` to `createMicroservice` or `connectMicroservice`.
 */
export class MicroserviceServer
  extends Server<MicroserviceServerEvents, MicroserviceStatus>
  implements CustomTransportStrategy
{
  /** Nest's TCP, so that handlers bound to `Transport.TCP` are bound to this server. */
  override transportId: Transport | symbol = Transport.TCP
  protected override readonly logger = new Logger(MicroserviceServer.name)
  readonly #transport: TcpServer
  readonly #drain: number
  readonly #events = new EventHandlers()
  readonly #listeners = new Listeners<MicroserviceServerEvents>(['listening', 'close', 'error'], (error) =>
    this.logger.error(error)
  )
  readonly #noStartHook = this.onProcessingStartHook
  #starting: Promise<void> | undefined
  #closing: Promise<void> | undefined

  /** @throws {ValidationError} an option is not what it must be, or is one of Nest's that has no effect here */
  constructor(options: MicroserviceServerOptions = {}) {
    super()
    const { transport, drain } = splitServerOptions(options)
    this.#transport = new TcpServer({ ...transport, logger: transport.logger ?? nestLogger(this.logger) })
    this.#drain = drain
  }

  /** Where it listens, with the real port; `undefined` while it does not. */
  get address(): SocketAddress | undefined {
    return this.#transport.address
  }

  /** Called by Nest: listens, then calls back, with a `ListenError` if it cannot. */
  listen(callback: (error?: unknown) => void): void {
    this.#closing = undefined
    const dispatcher: Dispatcher = {
      request: (message) => this.#request(message),
      event: (message) => this.#event(message)
    }
    this.#starting = this.#transport.start(dispatcher)
    this.#starting.then(
      () => {
        this._status$.next('connected')
        this.#listeners.emit('listening')
        callback()
      },
      (error: Error) => {
        this._status$.next('disconnected')
        this.#listeners.emit('error', error)
        callback(error)
      }
    )
  }

  /** Called by Nest: takes no new connections, lets work in flight end (see `drain`), closes. */
  close(): Promise<void> {
    this.#closing ??= this.#stop()
    return this.#closing
  }

  /**
   * Registers a callback.
   * @throws {ValidationError} there is no such event
   */
  on<
    EventKey extends keyof MicroserviceServerEvents = keyof MicroserviceServerEvents,
    EventCallback extends MicroserviceServerEvents[EventKey] = MicroserviceServerEvents[EventKey]
  >(event: EventKey, callback: EventCallback): void {
    this.#listeners.add(event, callback)
  }

  /**
   * The `TcpServer` of the transport.
   * @throws {Error} it does not listen
   */
  unwrap<T = TcpServer>(): T {
    if (this.address === undefined)
      throw new Error(
        'Not initialized. Please call the "listen"/"startAllMicroservices" method before accessing the server.'
      )
    return this.#transport as T
  }

  /**
   * Called by Nest for each handler.
   * @throws {ValidationError} the pattern is a RegExp, which only Kafka knows
   */
  override addHandler(
    pattern: unknown,
    callback: MessageHandler,
    isEventHandler = false,
    extras: Record<string, unknown> = {}
  ): void {
    if (pattern instanceof RegExp) {
      const expected = 'no RegExp (bind the handler to Transport.KAFKA in its decorator)'
      throw new ValidationError(`pattern ${pattern}`, expected, pattern)
    }
    const route = this.normalizePattern(pattern as MsPattern)
    callback.isEventHandler = isEventHandler
    callback.extras = extras
    const present = this.messageHandlers.get(route)
    if (isEventHandler) this.#events.add(route, callback)
    else if (present !== undefined && !present.isEventHandler)
      this.logger.warn(`Two handlers of the message pattern ${route}: the later one answers, as in Nest`)
    if (!isEventHandler || present === undefined) this.messageHandlers.set(route, callback)
  }

  async #stop(): Promise<void> {
    const started = await this.#starting?.then(
      () => true,
      () => false
    )
    // A start that failed has told its caller; there is nothing to stop then.
    if (started !== true) return
    await this.#transport.stop({ drain: this.#drain })
    this._status$.next('disconnected')
    this.#listeners.emit('close')
  }

  #request(message: IncomingMessage): unknown {
    const handler = this.#handlerOf(message)
    if (handler === undefined) return NO_HANDLER
    const context = new MicroserviceContext(message)
    const { data } = message
    const call = (): unknown =>
      handler.isEventHandler
        ? answerByEventHandlers(this.#events.ofFirst(handler), data, context)
        : handler(data, context)
    return this.#isHooked ? answerInHooks(this.#hooksOf(context), context, call) : answerTo(call)
  }

  #event(message: IncomingMessage): void | Promise<void> {
    const handlers = this.#eventHandlersOf(message)
    if (handlers === undefined) {
      this.logger.error(
        `There is no matching event handler defined in the remote service. Event pattern: ${message.pattern}`
      )
      return
    }
    const context = new MicroserviceContext(message)
    const run = () => runEventHandlers(handlers, message.data, context, this.logger)
    return this.#isHooked ? runEventInHooks(this.#hooksOf(context), run, this.logger) : run()
  }

  /** The transport's routes are Nest's. What they do not find is looked up Nest's way, which may be overridden. */
  #handlerOf({ route, pattern }: IncomingMessage): MessageHandler | undefined {
    const handler = this.messageHandlers.get(route as string)
    // A message without pattern has no text either; 'undefined' stands for it.
    if (handler !== undefined || (route === undefined && pattern === 'undefined')) return handler
    return this.getHandlerByPattern(pattern) ?? undefined
  }

  #eventHandlersOf(message: IncomingMessage): readonly MessageHandler[] | undefined {
    const handlers = this.#events.ofRoute(message.route)
    if (handlers !== undefined) return handlers
    const handler = this.#handlerOf(message)
    return handler === undefined ? undefined : this.#events.ofFirst(handler)
  }

  /** Instrumentation is there: messages without it take the short way. */
  get #isHooked(): boolean {
    return this.onProcessingStartHook !== this.#noStartHook || this.onProcessingEndHook !== undefined
  }

  #hooksOf(context: MicroserviceContext): InHooks {
    return (work) => this.runWithProcessingHooks(context, work)
  }
}
