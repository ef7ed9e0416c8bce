/** The durable handlers of a service over an engine that stores, over one connection after the other. */
import type { Dispatcher } from '../../dispatcher.ts'
import { groupOf } from '../../durable/options.ts'
import { type DurableFigures, type DurableRoute, durableRoutes, viaOf } from '../../durable/published.ts'
import type { DurableWorker, HeldEvent } from '../../durable/worker.ts'
import { ConnectionError } from '../../errors/index.ts'
import type { Logger } from '../../logger.ts'
import type { ServerContext } from '../../transport.ts'
import { addressOfHandler } from '../address.ts'
import type { Carrier, Engine } from '../carrier.ts'

/** One durable handler of a service in one process. */
export interface Consumer<Connection> {
  /** Events whose handlers run. */
  readonly running: number
  readonly figures: DurableFigures
  /** Makes what is missing at the engine, and begins to take events. @throws {OptionError} what is there differs */
  start(connection: Connection): Promise<void>
  /** The server is lost. */
  lost(): void
  /** The server is there again. */
  restored(): void
  /** The connection is over for good; `start` follows with another. */
  leave(): Promise<void>
  /** Takes nothing new; what has not begun goes back. Resolves when what runs has ended. */
  stop(): Promise<void>
  /** Ends, whatever runs. */
  cut(): void
}

/** The handler that a consumer receives events for. */
export interface ConsumerInit {
  readonly dispatcher: Dispatcher
  readonly route: DurableRoute
  /** The address of its pattern. */
  readonly pattern: string
  readonly group: string
  /** The handlers that its messages are for (`viaOf`). */
  readonly via: string
  readonly logger: Logger
}

/** Figures of a consumer: what its worker has counted, and the rest as it knows it from the engine. */
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
    // In order it is retried in its place, and the engine delivers nothing again.
    redeliveries: redeliveries + (route.durable.ordered ? retries : 0),
    ...said,
    ...(unavailable !== undefined && { unavailable })
  }
}

/** The part of a server that an engine writes if it stores events: a consumer for each durable handler. */
export interface ServerStore<Connection> {
  /** @throws {OptionError} the pattern cannot be stored */
  consumer(init: ConsumerInit): Consumer<Connection>
  /** A new connection, before the consumers start with it; also for further attempts with the same. */
  attach(connection: Connection): Promise<void>
  /** The server is there again. */
  restored(): void
  /** The connection is over for good. */
  detach(): void
  /** The service stops. */
  close(): void
}

/** How often an engine is asked at the start. */
const ATTEMPTS = 3

/** Takes durable events. */
export class DurableServer<Connection extends Carrier> {
  readonly #store: ServerStore<Connection>
  readonly #engine: Engine<Connection>
  readonly #context: ServerContext
  readonly #consumers: readonly Consumer<Connection>[]

  /**
   * @param service the group of handlers that name none; see `groupOf`
   * @throws {OptionError} a pattern cannot be stored, or has no group
   */
  constructor(
    store: ServerStore<Connection>,
    dispatcher: Dispatcher,
    engine: Engine<Connection>,
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
   * Takes a new connection.
   * @throws {NotStoredError} the engine stores nothing
   * @throws {OptionError} what is there differs from what is wanted
   */
  async start(connection: Connection): Promise<void> {
    if (this.#consumers.length === 0) return
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#store.attach(connection)
        // One after the other: they may share what is to be made.
        for (const consumer of this.#consumers) await consumer.start(connection)
        return
      } catch (error) {
        // A cluster that elects a leader does not answer meanwhile.
        if (!(error instanceof ConnectionError) || attempt === ATTEMPTS) throw error
        this.#context.logger.warn(
          `${this.#engine.title} does not answer about its stored events; asking again`,
          error
        )
      }
    }
  }

  /** The server is lost. */
  lost(): void {
    for (const consumer of this.#consumers) consumer.lost()
  }

  /** The server is there again. */
  restored(): void {
    this.#store.restored()
    for (const consumer of this.#consumers) consumer.restored()
  }

  /** The connection is over for good; `start` follows with another. */
  async leave(): Promise<void> {
    this.#store.detach()
    await Promise.all(this.#consumers.map((consumer) => consumer.leave()))
  }

  /** Takes nothing new; what has not begun goes back. Resolves when what runs has ended. */
  async stop(): Promise<void> {
    await Promise.all(this.#consumers.map((consumer) => consumer.stop()))
  }

  /** Ends, whatever runs. */
  cut(): void {
    for (const consumer of this.#consumers) consumer.cut()
    this.#store.close()
  }
}
