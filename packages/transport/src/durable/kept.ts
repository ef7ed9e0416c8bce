/**
 * The events of a service whose store is not its transport: what arrives by a transport for a durable handler is
 * stored, and comes back from the store.
 */
import type { Dispatcher, Route } from '../dispatcher.ts'
import { RejectedError } from '../errors/index.ts'
import type { IncomingMessage } from '../message.ts'
import { quietLog, shown } from '../quiet-log.ts'
import type { ClientContext, EventStore, StoreClient } from '../transport.ts'
import { hasWildcards, routeMatches } from '../wildcards.ts'
import { GROUPS } from './directed.ts'
import { groupOf } from './options.ts'
import { type DurableRoute, durableRoutes, VIA_PLAIN } from './published.ts'
import { noteStoring } from './taken.ts'

/** Milliseconds within which the store must have an event of the service itself. */
const STORED_WITHIN = 30_000

/** A service as a client of its own store. */
export type StoringService = Pick<ClientContext, 'logger' | 'name'>

/** The context of that client. */
export function contextOf({ logger, name }: StoringService): ClientContext {
  return { logger, name, timeout: STORED_WITHIN, dispatcher: undefined }
}

/** The durable handlers of a service, and the connection by which the service itself stores events for them. */
export class Kept {
  readonly #store: EventStore
  readonly #owner: StoringService
  readonly #dispatcher: Dispatcher
  readonly #groups: readonly { readonly route: string; readonly group: string }[]
  /** Whether the processes of the service share events, so that one of them stores each. */
  readonly #isShared: boolean
  /** The routes of handlers that are not durable; `undefined` stands for a RegExp. */
  readonly #plain: readonly (string | undefined)[]
  #client: StoreClient | undefined

  /**
   * @param service the group of handlers that name none
   * @throws {OptionError} a handler has no group
   */
  constructor(store: EventStore, dispatcher: Dispatcher, service: string | undefined, owner: StoringService) {
    this.#store = store
    this.#owner = owner
    this.#dispatcher = dispatcher
    this.#groups = durableRoutes(dispatcher).map(({ route = '', durable }) => ({
      route,
      group: groupOf(durable, service, route)
    }))
    const plain = dispatcher.routes().filter((route) => !isDurable(route))
    this.#plain = plain.map(({ route }) => route)
    this.#isShared = service !== undefined
  }

  /** The dispatcher with which the store's server is started: it has the durable routes only. */
  get ofStore(): Dispatcher {
    return withRoutes(this.#dispatcher, isDurable)
  }

  /**
   * The dispatcher with which the server of a transport is started, whose durable handlers the store has. An event fails
   * with a `RejectedError`, of which its sender is told, if it cannot be stored.
   */
  ofTransport(dispatcher: Dispatcher): Dispatcher {
    if (this.#groups.length === 0) return dispatcher
    return {
      routes: () => (this.#isShared ? subscribed : plainOf)(dispatcher.routes()),
      request: (message) => dispatcher.request(message),
      event: (message) => this.#event(dispatcher, message)
    }
  }

  #event(dispatcher: Dispatcher, message: IncomingMessage): void | Promise<void> {
    const { route = '' } = message
    const groups = this.#groups.filter((one) => routeMatches(one.route, route)).map(({ group }) => group)
    if (groups.length === 0) return dispatcher.event(message)
    const stored = this.#keep(message, [...new Set(groups)])
    noteStoring(message, stored)
    message.via = VIA_PLAIN
    const isPlain = this.#plain.some((one) => one === undefined || routeMatches(one, route))
    return isPlain ? both(stored, () => dispatcher.event(message)) : stored
  }

  async #keep({ pattern, data, headers }: IncomingMessage, groups: readonly string[]): Promise<void> {
    const { logger } = this.#owner
    try {
      this.#client ??= this.#store.client(contextOf(this.#owner))
      await this.#client.publish(pattern, data, { headers, [GROUPS]: groups })
    } catch (error) {
      quietLog(logger).error('unstored', `The event '${shown(pattern)}' could not be stored`, error)
      throw new RejectedError('The service cannot store the event at the moment')
    }
  }

  /** Closes the connection, when the transports have stopped. */
  async close(): Promise<void> {
    await this.#client?.close()
    this.#client = undefined
  }
}

/** Settles when both have ended, with the first failure. */
async function both(stored: Promise<void>, handle: () => void | Promise<void>): Promise<void> {
  const handled = (async () => handle())()
  const [storing, handling] = await Promise.allSettled([stored, handled])
  for (const outcome of [storing, handling]) if (outcome.status === 'rejected') throw outcome.reason
}

const plainOf = (routes: readonly Route[]): readonly Route[] => routes.filter((route) => !isDurable(route))

/**
 * The routes with those of durable handlers as plain ones, for transports that subscribe to each route. Routes with
 * wildcards are left out: not every transport has them, and those that have them write them in their own way.
 */
function subscribed(routes: readonly Route[]): readonly Route[] {
  const plain = plainOf(routes)
  const known = new Set(plain.filter(({ kind }) => kind === 'event').map(({ route }) => route))
  const added = routes.filter(({ durable, route }) => {
    if (durable === undefined || route === undefined || hasWildcards(route) || known.has(route)) return false
    known.add(route)
    return true
  })
  return [...plain, ...added.map(({ durable: _, ...route }) => route)]
}

function isDurable({ durable }: { readonly durable?: DurableRoute['durable'] | undefined }): boolean {
  return durable !== undefined
}

function withRoutes(
  dispatcher: Dispatcher,
  isMeant: (route: ReturnType<Dispatcher['routes']>[number]) => boolean
): Dispatcher {
  return {
    routes: () => dispatcher.routes().filter(isMeant),
    request: (message) => dispatcher.request(message),
    event: (message) => dispatcher.event(message)
  }
}
