/** The server of a store: runs the durable handlers of a service, and connects again after a loss. */
import {
  backoffDelay,
  type Clock,
  type Dispatcher,
  paused,
  quietLog,
  type ServerContext,
  type ServerTransport,
  type StopOptions,
  systemClock,
  type TransportStats
} from '@elysia-microservices/transport/kit'
import type { CarrierListener } from '../carrier.ts'
import { opened, Wanted } from '../opened.ts'
import { DurableServer } from './durable-server.ts'
import type { StoreConnection, StoreEngine } from './store-engine.ts'
import type { StoreParts } from './store-parts.ts'

const AGAIN = { minDelay: 500, maxDelay: 10_000 }

/** Runs the durable handlers of a service. */
export class ConnectedStoreServer<Connection extends StoreConnection> implements ServerTransport {
  readonly name: string
  readonly isDurable = true
  readonly hasTransactions: boolean
  readonly sharing?: NonNullable<ServerTransport['sharing']>
  readonly #parts: StoreParts<Connection>
  readonly #engine: StoreEngine<Connection>
  readonly #context: ServerContext
  readonly #clock: Clock
  #durable: DurableServer<Connection> | undefined
  #connection: Connection | undefined
  /** Why there is no connection to a server, as text; `undefined` while there is one. */
  #lost: string | undefined
  #wanted = new Wanted()

  constructor(parts: StoreParts<Connection>, context: ServerContext, clock: Clock = systemClock) {
    this.name = parts.name
    this.hasTransactions = parts.stores.transactions
    this.#parts = parts
    this.#engine = parts.engine(context)
    this.#context = context
    this.#clock = clock
    if (parts.sharing !== undefined) this.sharing = parts.sharing
  }

  async start(dispatcher: Dispatcher, signal?: AbortSignal): Promise<void> {
    // A service without durable handlers costs the store nothing.
    if (dispatcher.routes().length === 0) return
    const { serverStore } = this.#parts
    const context = this.#context
    const durable = new DurableServer(
      serverStore(context),
      dispatcher,
      this.#engine,
      context,
      context.group ?? context.name
    )
    this.#wanted = new Wanted(signal)
    try {
      this.#connection = await this.#open(durable, this.#wanted.signal)
    } catch (error) {
      // No handler has begun. An engine that does not answer must not hold up the error.
      await durable.stopWithin()
      await durable.cut()
      // The connection may have been lost meanwhile, and the next start makes another one.
      this.#lost = undefined
      throw error
    }
    this.#durable = durable
  }

  begin(): void {
    this.#durable?.begin()
  }

  async stop({ drain }: StopOptions = {}): Promise<void> {
    const durable = this.#durable
    this.#durable = undefined
    this.#lost = undefined
    if (durable === undefined) return this.#wanted.end()
    await durable.stopWithin(drain)
    await durable.cut()
    this.#wanted.end()
    const connection = this.#connection
    this.#connection = undefined
    await connection?.close()
  }

  stats(): TransportStats {
    const figures = this.#durable?.figures ?? []
    const unavailable = this.#lost ?? figures.find((one) => one.unavailable !== undefined)?.unavailable
    return {
      transport: this.name,
      address: undefined,
      inFlight: { current: this.#durable?.running ?? 0, limit: false },
      streams: 0,
      ...(unavailable !== undefined && { unavailable }),
      ...(figures.length > 0 && { durable: figures })
    }
  }

  async #open(durable: DurableServer<Connection>, signal: AbortSignal): Promise<Connection> {
    const engine = this.#engine
    // The server may be lost again before the connection is ready.
    let open: Connection | undefined
    const connection = await opened(
      engine,
      this.#listener(
        durable,
        signal,
        () => open?.server ?? engine.where,
        (error) => void this.#openAgain(durable, signal, error)
      )
    )
    open = connection
    try {
      await durable.start(connection)
      return connection
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  #listener(
    durable: DurableServer<Connection>,
    signal: AbortSignal,
    server: () => string,
    ended: CarrierListener['ended']
  ): CarrierListener {
    const { title } = this.#engine
    const { logger } = this.#context
    return {
      signal,
      lost: (why) => {
        this.#lost = `The ${title} server ${server()} is lost`
        if (why !== undefined) this.#lost += `: ${why}`
        logger.warn(`${this.#lost}; until it is back, durable handlers get no events`)
        durable.lost()
      },
      restored: () => {
        this.#found(server())
        durable.restored()
      },
      refused: (address, operation) =>
        quietLog(logger).error(
          operation,
          `${title} does not let this service ${operation === 'publish' ? 'publish' : 'subscribe'} to '${address}'; give its user the permission`
        ),
      unpublished: (address, error) =>
        quietLog(logger).error('unpublished', `A message to '${address}' could not be published`, error),
      failed: (error) =>
        quietLog(logger).error('failed', `A message of ${title} could not be handled`, error),
      ended
    }
  }

  #found(server: string): void {
    if (this.#lost === undefined) return
    this.#lost = undefined
    this.#context.logger.warn(`Connected to the ${this.#engine.title} server ${server} again`)
  }

  /** Connects again, because the driver has given up. */
  async #openAgain(
    durable: DurableServer<Connection>,
    signal: AbortSignal,
    error: Error | undefined
  ): Promise<void> {
    const { title } = this.#engine
    const { logger } = this.#context
    this.#lost = `The connection to ${title} has ended`
    logger.error(`${this.#lost}; connecting again`, error)
    void this.#connection?.close().catch(() => {})
    await durable.leave()
    for (let attempt = 0; this.#durable === durable; attempt++) {
      await paused(backoffDelay(AGAIN, attempt, Math.random()), signal, this.#clock)
      if (this.#durable !== durable) return
      try {
        const connection = await this.#open(durable, signal)
        if (this.#durable !== durable) return await connection.close()
        this.#connection = connection
        return this.#found(connection.server)
      } catch (cause) {
        if (signal.aborted) return
        logger.error(`${title} cannot be reached; trying again`, cause)
        // Some consumers may have started.
        if (this.#durable === durable) await durable.leave()
      }
    }
  }
}
