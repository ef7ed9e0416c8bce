/** The service `stock`, which the service `orders` calls to reserve items. */
import { telemetry } from '@elysia-microservices/telemetry'
import { type AnyStore, microservice, type Transport } from 'elysia-microservices'
import { Left, NewOrder } from './schemas.ts'

/** How many pieces of each item there are at the start. */
const FULL = 100

/**
 * Makes the service.
 * @param transport carries the service's messages; tests use `memory()`
 * @param store keeps its durable events, where the transport does not
 */
export function newStock(transport: Transport, store?: AnyStore) {
  const left = new Map<string, number>()

  return (
    microservice({ name: 'stock', transport, store })
      .wrap(telemetry())
      .message(
        'stock.reserve',
        ({ data: { item, quantity }, fail }) => {
          const there = left.get(item) ?? FULL
          if (quantity > there) throw fail('OUT_OF_STOCK', { left: there }, `There are ${there} ${item}`)
          left.set(item, there - quantity)
          return { left: there - quantity }
        },
        { data: NewOrder, response: Left, errors: { OUT_OF_STOCK: Left } }
      )
      // Durable: the event is stored, and handled after the next start if the process ends before it is done.
      .event('stock.ship', ({ data: { item, quantity } }) => console.log(`${quantity} ${item} can go`), {
        data: NewOrder,
        durable: true
      })
  )
}

/** The type of the service, for its callers: `connect<Stock>()`. */
export type Stock = ReturnType<typeof newStock>
