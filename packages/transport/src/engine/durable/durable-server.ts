/** The durable handlers of a service over an engine that stores, over one connection after the other. */
import type { Dispatcher } from '../../dispatcher.ts'
import { groupOf } from '../../durable/options.ts'
import { type DurableFigures, type DurableRoute, durableRoutes } from '../../durable/published.ts'
import { ConnectionError } from '../../errors/index.ts'
import type { ServerContext } from '../../transport.ts'
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

/** Interface of an engine's store for servers. */
export interface ServerStore<Connection> {
  /** The group of a service without a name for its durable handlers; see `groupOf`. */
  readonly service: string | undefined
  /** @throws {OptionError} the pattern cannot be stored */
  consumer(route: DurableRoute, address: string, group: string): Consumer<Connection>
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

  /** @throws {OptionError} a pattern cannot be stored, or has no group */
  constructor(
    store: ServerStore<Connection>,
    dispatcher: Dispatcher,
    engine: Engine<Connection>,
    context: ServerContext
  ) {
    this.#store = store
    this.#engine = engine
    this.#context = context
    this.#consumers = durableRoutes(dispatcher).map((route) => {
      const address = engine.subjectOf(route.route)
      return store.consumer(route, address, groupOf(route.durable, store.service, address))
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
          `${this.#engine.title} does not answer about its stored events; it is asked again`,
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
