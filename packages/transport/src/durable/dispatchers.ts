/** The dispatchers of the servers of a service, in one run of the service. */
import type { Dispatcher } from '../dispatcher.ts'
import type { Logger } from '../logger.ts'
import type { EventStore, ServerTransport, Transport } from '../transport.ts'
import { Kept } from './kept.ts'
import { checkDurable, checkGroups, dispatcherFor } from './published.ts'
import { type Recurring, recurringOf } from './recurring.ts'

/** The settings of a service that decide who gets which messages. */
export interface DispatchSettings {
  readonly name?: string | undefined
  /** The group of the service's handlers. Default: the name. */
  readonly group?: string | undefined
  readonly transports: readonly Transport[]
  /** The store beside the transports, and its part of the service; `undefined`: the transports store events, or none. */
  readonly storing: { readonly store: EventStore; readonly server: ServerTransport } | undefined
  readonly logger: Logger
}

/** Handlers that may be bound to some transports only. */
export interface Binding {
  /** The same dispatcher, with the routes of one transport. */
  dispatcherOf(transport: string, dispatcher: Dispatcher): Dispatcher
  /** The same dispatcher, with the routes for a store beside the transports. */
  ofStore(store: string, dispatcher: Dispatcher): Dispatcher
}

const UNBOUND: Binding = {
  dispatcherOf: (_transport, dispatcher) => dispatcher,
  ofStore: (_store, dispatcher) => dispatcher
}

/** The dispatchers of one run. */
export class Dispatchers {
  readonly #binding: Binding
  readonly #settings: DispatchSettings
  readonly #all: Dispatcher
  /** The durable handlers, if a store beside the transports has their events. */
  readonly #kept: Kept | undefined
  readonly #recurring: Recurring | undefined

  /**
   * @param handlers the dispatcher of all handlers
   * @param binding default: each handler is called over all transports
   * @throws {OptionError} a rule of a recurring event is wrong, or a durable handler has no group
   */
  constructor(handlers: Dispatcher, settings: DispatchSettings, binding = UNBOUND) {
    const { logger, name, group = name, storing } = settings
    this.#binding = binding
    this.#settings = { ...settings, group }
    this.#recurring = recurringOf(handlers, { ...settings, group, store: storing?.store })
    this.#all = this.#recurring?.around(handlers) ?? handlers
    this.#kept =
      storing &&
      new Kept(storing.store, binding.ofStore(storing.store.name, this.#all), group, { logger, name })
  }

  /**
   * The dispatchers of servers. The store comes first, so that it has the groups of what arrives by the others.
   * @throws {OptionError} no server of a durable handler stores events, or a handler has no group
   */
  of(servers: readonly ServerTransport[]): Map<ServerTransport, Dispatcher> {
    const kept = this.#kept
    const store = this.#settings.storing?.server
    const own = new Map<ServerTransport, Dispatcher>()
    if (kept !== undefined && store !== undefined) own.set(store, kept.ofStore)
    for (const server of servers) {
      if (server === store) continue
      const dispatcher = this.#binding.dispatcherOf(server.name, this.#all)
      own.set(server, kept?.ofTransport(dispatcher) ?? dispatcher)
    }
    checkDurableOver(own)
    for (const dispatcher of own.values()) checkGroups(dispatcher, this.#settings.group)
    return new Map([...own].map(([server, dispatcher]) => [server, dispatcherFor(server, dispatcher)]))
  }

  /** All servers have started. */
  async started(): Promise<void> {
    await this.#recurring?.start()
  }

  /** All servers have stopped. */
  async close(): Promise<void> {
    await Promise.all([this.#kept?.close(), this.#recurring?.close()])
  }
}

/**
 * Checks that each durable event can be stored. @throws {OptionError} a durable event has a handler, but no
 * transport of that handler stores events
 */
function checkDurableOver(dispatchers: ReadonlyMap<ServerTransport, Dispatcher>): void {
  const durable = [...dispatchers].map(([server, dispatcher]) => ({
    server,
    routes: dispatcher.routes().filter(({ durable }) => durable !== undefined)
  }))
  for (const { route, ...others } of durable.flatMap(({ routes }) => routes)) {
    const carrying = durable.filter(({ routes }) => routes.some((one) => one.route === route))
    checkDurable(
      { routes: () => [{ route, ...others }] },
      carrying.map(({ server }) => server)
    )
  }
}
