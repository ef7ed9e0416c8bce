/**
 * The durable handlers of a service over an engine that stores events. They continue when a new connection replaces the
 * last one.
 */
import {
  ConnectionError,
  type Dispatcher,
  type DurableFigures,
  type DurableRoute,
  type DurableWorker,
  durableRoutes,
  endedWithin,
  groupOf,
  type HeldEvent,
  type Logger,
  type ServerContext,
  viaOf
} from '@elysia-microservices/transport/kit'
import { addressOfHandler } from '../address.ts'
import type { StoreConnection, StoreEngine } from './store-engine.ts'

/** One durable handler of a service in one process. */
export interface Consumer<Connection> {
  /** Number of events whose handlers run. */
  readonly running: number
  readonly figures: DurableFigures
  /**
   * Creates what is missing at the engine, such as a queue, so that events are stored for the group. Takes events over
   * this connection as soon as `begin` was called.
   * @throws {OptionError} what exists at the engine differs from what is needed
   */
  start(connection: Connection): Promise<void>
  /** Everything of the service has started: takes events, over this connection and all that follow. Called once. */
  begin(): void
  /** The server is lost. */
  lost(): void
  /** The server is back. */
  restored(): void
  /** The connection has ended for good; `start` follows with another connection. */
  leave(): Promise<void>
  /** Takes no new events and gives back those that have not begun. Resolves when running handlers have ended. */
  stop(): Promise<void>
  /** Ends at once, even if handlers run. */
  cut(): void
}

/** The handler for which a consumer receives events. */
export interface ConsumerInit {
  readonly dispatcher: Dispatcher
  readonly route: DurableRoute
  /** The address of the handler's pattern. */
  readonly pattern: string
  readonly group: string
  /** Identifies the handlers that get the messages (`viaOf`). */
  readonly via: string
  readonly logger: Logger
}

/** Figures of a consumer: the counts of its worker, and figures that the engine has reported. */
export function figuresOf(
  { pattern, group, route }: ConsumerInit,
  { retries, deadLetters }: DurableWorker<HeldEvent>['figures'],
  {
    redeliveries,
    unavailable,
    ...said
  }: Pick<DurableFigures, 'lag' | 'redeliveries' | 'isPaused' | 'unavailable'>
): DurableFigures {
  return {
    pattern,
    group,
    deadLetters,
    // An ordered event is retried in the process, so the engine delivers nothing again and only `retries` counts.
    redeliveries: redeliveries + (route.durable.ordered ? retries : 0),
    ...said,
    ...(unavailable !== undefined && { unavailable })
  }
}

/**
 * The part of a server that an engine which stores events must implement: it makes a consumer for each durable handler.
 */
export interface ServerStore<Connection> {
  /** @throws {OptionError} the engine cannot store events of the pattern */
  consumer(init: ConsumerInit): Consumer<Connection>
  /**
   * A connection was made, and the consumers will start with it. Called again for each further attempt with the same
   * connection.
   */
  attach(connection: Connection): Promise<void>
  /** The server is back. */
  restored(): void
  /** The connection has ended for good. */
  detach(): void
  /** The service stops. Resolves when nothing is asked of the connection any more, soon in any case. */
  close(): Promise<void> | void
}

/** Number of attempts to start the consumers on one connection. */
const ATTEMPTS = 3
/**
 * Milliseconds that consumers have at least to leave their groups, if none of their handlers runs: over Kafka, the next
 * process would have to wait until the brokers miss one that has gone without a word.
 */
const FAREWELL = 2_000

/** Receives durable events. */
export class DurableServer<Connection extends StoreConnection> {
  readonly #store: ServerStore<Connection>
  readonly #engine: StoreEngine<Connection>
  readonly #context: ServerContext
  readonly #consumers: readonly Consumer<Connection>[]
  #hasBegun = false

  /**
   * @param service the group of handlers that name no group; see `groupOf`
   * @throws {OptionError} the engine cannot store a pattern, or a handler has no group
   */
  constructor(
    store: ServerStore<Connection>,
    dispatcher: Dispatcher,
    engine: StoreEngine<Connection>,
    context: ServerContext,
    service: string | undefined
  ) {
    this.#store = store
    this.#engine = engine
    this.#context = context
    const { logger } = context
    this.#consumers = durableRoutes(dispatcher).map((route) => {
      const pattern = addressOfHandler(engine, route.route)
      const group = groupOf(route.durable, service, pattern)
      const via = viaOf(route.route, route.durable.group)
      return store.consumer({ dispatcher, route, pattern, group, via, logger })
    })
  }

  get running(): number {
    return this.#consumers.reduce((sum, { running }) => sum + running, 0)
  }

  get figures(): readonly DurableFigures[] {
    return this.#consumers.map(({ figures }) => figures)
  }

  /**
   * Starts the consumers on a new connection.
   * @throws {NotStoredError} the engine stores nothing
   * @throws {OptionError} what exists at the engine differs from what is needed
   */
  async start(connection: Connection): Promise<void> {
    if (this.#consumers.length === 0) return
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#store.attach(connection)
        // The consumers start one after the other, because they may share streams or queues that must be created.
        for (const consumer of this.#consumers) await consumer.start(connection)
        return
      } catch (error) {
        // While a cluster elects a leader, it does not answer.
        if (!(error instanceof ConnectionError) || attempt === ATTEMPTS) throw error
        this.#context.logger.warn(
          `${this.#engine.title} does not answer about its stored events; asking again`,
          error
        )
      }
    }
  }

  /** Everything of the service has started. */
  begin(): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    for (const consumer of this.#consumers) consumer.begin()
  }

  /** The server is lost. */
  lost(): void {
    for (const consumer of this.#consumers) consumer.lost()
  }

  /** The server is back. */
  restored(): void {
    this.#store.restored()
    for (const consumer of this.#consumers) consumer.restored()
  }

  /** The connection has ended for good; `start` follows with another connection. */
  async leave(): Promise<void> {
    this.#store.detach()
    await Promise.all(this.#consumers.map((consumer) => consumer.leave()))
  }

  /** Takes no new events and gives back those that have not begun. Resolves when running handlers have ended. */
  async stop(): Promise<void> {
    await Promise.all(this.#consumers.map((consumer) => consumer.stop()))
  }

  /** As `stop`, but waits only for a time. @param drain milliseconds for handlers that run */
  async stopWithin(drain?: number): Promise<void> {
    const isIdle = this.running === 0
    await endedWithin(this.stop(), isIdle && drain !== undefined ? Math.max(drain, FAREWELL) : drain)
  }

  /** Ends at once, even if handlers run. Resolves when the connection is not used any more. */
  cut(): Promise<void> | void {
    for (const consumer of this.#consumers) consumer.cut()
    return this.#store.close()
  }
}
