/** The client of a store: one connection, over which events are published and managed. */
import {
  type ClientContext,
  type ClientStatus,
  ConnectionError,
  type ConnectionListener,
  type DeadLetters,
  type DurableCaller,
  Notices,
  type Pattern,
  type Published,
  type PublishOptions,
  quietLog,
  type StoreClient
} from '@elysia-microservices/transport/kit'
import type { CarrierListener } from '../carrier.ts'
import { opened } from '../opened.ts'
import { haltedBy } from '../unreachable.ts'
import type { ClientStore, ClientStoreInit } from './client-store.ts'
import type { StoreConnection, StoreEngine } from './store-engine.ts'

/** Publishes and manages the events of a store. */
export class ConnectedStoreClient<Connection extends StoreConnection> implements StoreClient {
  readonly name: string
  readonly #engine: StoreEngine<Connection>
  readonly #context: ClientContext
  readonly #durable: ClientStore<Connection>
  readonly #notices: Notices
  #connection: Connection | undefined
  #connecting: Promise<void> | undefined
  /** Why the server takes no events at the moment; `undefined`: it takes events. */
  #halted: string | undefined
  readonly #closing = new AbortController()

  constructor(
    engine: StoreEngine<Connection>,
    clientStore: (init: ClientStoreInit<Connection>) => ClientStore<Connection>,
    context: ClientContext
  ) {
    this.name = engine.name
    this.#engine = engine
    this.#context = context
    this.#notices = new Notices(context.logger, 'disconnected', true)
    this.#durable = clientStore({
      engine,
      context,
      connect: () => this.#opened(),
      halted: () => this.#halted
    })
  }

  get future(): DurableCaller['future'] {
    return this.#durable.future
  }

  get status(): ClientStatus {
    return this.#notices.status
  }

  onStatus(listener: ConnectionListener): () => void {
    return this.#notices.listen(listener)
  }

  publish(pattern: Pattern, data: unknown, options?: PublishOptions): Promise<Published> {
    return this.#durable.publish(pattern, data, options)
  }

  deadLetters(group: string): DeadLetters {
    return this.#durable.deadLetters(group)
  }

  backlog(...args: Parameters<DurableCaller['backlog']>): ReturnType<DurableCaller['backlog']> {
    return this.#durable.backlog(...args)
  }

  get lag(): DurableCaller['lag'] {
    const durable = this.#durable
    return durable.lag === undefined ? undefined : durable.lag.bind(durable)
  }

  hasGroup(group: string): Promise<boolean> {
    return this.#durable.hasGroup(group)
  }

  pauseGroup(group: string, isPaused: boolean): Promise<void> {
    return this.#durable.pauseGroup(group, isPaused)
  }

  connect(): Promise<void> {
    if (this.#isClosed) return Promise.reject(ConnectionError.closed())
    if (this.#connection !== undefined) return Promise.resolve()
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#closing.abort(ConnectionError.closed())
    this.#durable.close(ConnectionError.closed(true), ConnectionError.closed())
    this.#notices.status = 'closed'
    await this.#connecting?.catch(() => {})
    await this.#connection?.close()
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  async #opened(): Promise<Connection> {
    await this.connect()
    if (this.#connection === undefined) throw ConnectionError.closed()
    return this.#connection
  }

  async #open(): Promise<void> {
    const { where } = this.#engine
    this.#notices.status = 'connecting'
    let open: Connection | undefined
    let ended: ConnectionError | undefined
    try {
      open = await opened(
        this.#engine,
        this.#listener(
          () => open,
          (error) => {
            ended = error
          }
        )
      )
      if (ended !== undefined) throw ended
    } catch (error) {
      if (!this.#isClosed) this.#notices.status = 'disconnected'
      this.#notices.tell({ type: 'connect-failed', endpoint: where, error: error as Error })
      throw error
    }
    if (this.#isClosed) {
      await open.close()
      throw ConnectionError.closed()
    }
    this.#connection = open
    this.#durable.attach(open)
    this.#ready(open)
  }

  #ready({ server }: Connection): void {
    this.#notices.status = 'connected'
    this.#notices.tell({ type: 'connected', endpoint: server })
  }

  /** @param ours returns the connection whose events the listener gets, once it is made */
  #listener(ours: () => Connection | undefined, ended: (error: ConnectionError) => void): CarrierListener {
    const { title } = this.#engine
    const log = this.#context.logger
    const current = () => {
      const connection = ours()
      return this.#isClosed || this.#connection !== connection ? undefined : connection
    }
    return {
      signal: this.#closing.signal,
      lost: (why) => {
        const connection = current()
        if (connection === undefined) return
        if (why !== undefined) quietLog(log).warn('lost', `The connection to ${title} was lost: ${why}`)
        this.#halted = undefined
        this.#notices.status = 'reconnecting'
        const { server: endpoint } = connection
        const error = new ConnectionError(`The connection to ${title} at ${endpoint} was lost`, true)
        this.#notices.tell({ type: 'disconnected', endpoint, error })
      },
      halted: (reason) => {
        if (current() === undefined) return
        this.#halted = reason && haltedBy(title, reason)
        log.warn(this.#halted === undefined ? `${title} takes events again` : `${this.#halted}; events wait`)
      },
      restored: () => {
        const connection = current()
        if (connection === undefined) return
        this.#durable.restored()
        this.#ready(connection)
      },
      refused: (address, operation, cause) => {
        if (operation !== 'publish') return
        const message = `${title} does not let this client publish to '${address}'; give its user the permission`
        this.#durable.forbidden?.(address, new ConnectionError(message, false, cause, false))
      },
      unpublished: (_address, cause) => {
        throw cause
      },
      failed: (error) => quietLog(log).error('failed', `A message of ${title} could not be handled`, error),
      // The driver has given up the connection; the next event makes a new one.
      ended: (cause) => {
        ended(new ConnectionError(`The connection to ${title} has ended`, false, cause))
        if (current() === undefined) return
        this.#connection = undefined
        this.#durable.detach()
        this.#notices.status = 'disconnected'
      }
    }
  }
}
