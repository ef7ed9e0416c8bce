/**
 * The store in the option `store`: users make a store (`sqlite('events.db')`) and pass it to `microservice()` or
 * `connect()` beside a transport. Calls travel by the transport, and events are kept by the store.
 */
import { OptionError } from './errors/index.ts'
import type { EventStore, StoringTransport, Transport } from './transport.ts'

/** A store, or a transport that stores events, of which only its store is used. */
export type AnyStore = EventStore | StoringTransport

/**
 * The store in the option `store`.
 * @param transports those that carry the calls
 * @throws {OptionError} the value is no store, or one of the transports is a store of the same kind
 */
export function storeOf(given: unknown, transports: readonly Transport[]): EventStore {
  const store: Partial<EventStore> = Object((given as Partial<StoringTransport>)?.store ?? given)
  if (typeof store.server !== 'function' || typeof store.client !== 'function' || store.stores === undefined)
    throw OptionError.expected(
      'options.store',
      "a store of events, such as sqlite('events.db'), or a transport that stores events, such as nats()",
      given
    )
  // An event of such a transport would reach a durable handler by the store, and by the service once more.
  if (transports.some(({ name, traits }) => name === store.name && traits.stores !== undefined))
    throw new OptionError(
      'options.store',
      `${store.name}() cannot be the store beside the transport ${store.name}(), which stores events itself: leave out options.store`
    )
  return store as EventStore
}
