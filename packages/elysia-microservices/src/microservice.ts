/** `microservice()`: a service that an Elysia app uses as a plugin, or that listens by itself. */
import {
  consoleLogger,
  type SocketAddress,
  TcpServer,
  ValidationError
} from '@elysia-microservices/transport'
import type { AnyElysia } from 'elysia'
import { readController } from './controller/reader.ts'
import { follow } from './lifecycle.ts'
import type { ListenOptions, MicroserviceOptions } from './options.ts'
import { HandlerRegistry } from './registry.ts'
import type {
  EventHandler,
  EventTypes,
  Message,
  MessageHandler,
  MessageType,
  MessageTypes,
  Patterns,
  ValueOf
} from './service-types.ts'

/**
 * A service: handlers of message and event patterns. It is an Elysia plugin (`app.use(service)`), and its
 * type tells `connect<typeof service>()` what callers may ask.
 */
export interface Microservice<
  Messages extends MessageTypes = Record<never, MessageType>,
  Events extends EventTypes = Record<never, unknown>
> {
  /** The plugin itself: Elysia calls it in `app.use(service)`. */
  <App extends AnyElysia>(app: App): App

  /**
   * Answers requests of a pattern with what the handler returns: a value, or a promise, Observable or
   * (async) iterator of values.
   * @throws {ValidationError} the pattern has a handler already, or is no pattern
   */
  message<const Name extends string, Data, Result>(
    pattern: Name,
    handler: (message: Message<Data>) => Result
  ): Microservice<Messages & Record<Name, MessageType<Data, ValueOf<Result>>>, Events>
  message<Data>(
    patterns: Patterns,
    handler: (message: Message<Data>) => unknown
  ): Microservice<Messages, Events>

  /**
   * Takes events of a pattern. Several handlers of one pattern all run; one that fails stops no other.
   * @throws {ValidationError} the pattern is no pattern
   */
  event<const Name extends string, Data>(
    pattern: Name,
    handler: (message: Message<Data>) => unknown
  ): Microservice<Messages, Events & Record<Name, Data>>
  event<Data>(
    patterns: Patterns,
    handler: (message: Message<Data>) => unknown
  ): Microservice<Messages, Events>

  /**
   * Starts to listen, without an app or before one does. Does nothing if it listens already.
   * @throws {ListenError} the port is taken or not allowed
   */
  listen(where?: number | ListenOptions): Promise<this>

  /** Takes no more connections, lets work in flight end (see `drain`), closes. */
  stop(): Promise<void>

  /** Where the service listens, with the real port; `undefined` while it does not. */
  readonly address: SocketAddress | undefined

  /** Carries the types for `connect`; has no value. */
  readonly '~messages'?: Messages
  /** Carries the types for `connect`; has no value. */
  readonly '~events'?: Events
}

const DEFAULT_DRAIN = 10_000

/**
 * Makes a service.
 * @throws {ValidationError} an option or a controller is not what it must be
 */
export function microservice(options: MicroserviceOptions): Microservice {
  const { transport, controllers = [], drain = DEFAULT_DRAIN, ...serverOptions } = options
  if (transport !== 'tcp') throw new ValidationError('options.transport', "'tcp'", transport)
  const registry = new HandlerRegistry(options.logger ?? consoleLogger)
  let server = new TcpServer(serverOptions)
  let listening: Promise<void> | undefined

  const service = ((app: AnyElysia) => {
    follow(app, service)
    return app
  }) as unknown as Microservice

  const methods = {
    message(patterns: Patterns, handler: MessageHandler) {
      registry.addMessage(patterns, handler)
      return service
    },
    event(patterns: Patterns, handler: EventHandler) {
      registry.addEvent(patterns, handler)
      return service
    },
    async listen(where: number | ListenOptions = {}) {
      if (listening === undefined) {
        server = new TcpServer({ ...serverOptions, ...(typeof where === 'number' ? { port: where } : where) })
        listening = server.start(registry)
      }
      try {
        await listening
      } catch (error) {
        listening = undefined
        throw error
      }
      return service
    },
    async stop() {
      const started = listening
      listening = undefined
      // A start that failed has told its caller; there is nothing to stop then.
      await started?.then(
        () => server.stop({ drain }),
        () => {}
      )
    }
  }

  for (const controller of controllers) {
    for (const { kind, patterns, call } of readController(controller)) {
      if (kind === 'message') registry.addMessage(patterns, call)
      else registry.addEvent(patterns, call)
    }
  }
  Object.assign(service, methods)
  return Object.defineProperty(service, 'address', { get: () => server.address })
}
