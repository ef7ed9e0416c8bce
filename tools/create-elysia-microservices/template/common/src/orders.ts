/** The service `orders`: the requests it answers, and the events it handles. */
import { EventEmitter, on } from 'node:events'
import { telemetry } from '@elysia-microservices/telemetry'
import { microservice, RpcError, type Transport } from 'elysia-microservices'
import type { Client } from 'elysia-microservices/client'
import { Left, NewOrder, Order, OrderId } from './schemas.ts'
import type { Stock } from './stock.ts'

/**
 * Makes the service.
 * @param transport carries the service's messages; tests use `memory()`
 * @param stock the client of the service `stock`; closed when the service `orders` stops
 */
export function newOrders(transport: Transport, stock: Client<Stock>) {
  const orders = new Map<number, Order>()
  const changes = new EventEmitter().setMaxListeners(0)

  function find(id: number): Order {
    const order = orders.get(id)
    if (order === undefined)
      throw new RpcError({ code: 'ORDER_NOT_FOUND', message: `There is no order ${id}` })
    return order
  }

  return microservice({ name: 'orders', transport, shutdownOn: ['SIGTERM', 'SIGINT'] })
    .wrap(telemetry()) // figures for the page of `dev`, spans for an OpenTelemetry SDK
    .message(
      'orders.place',
      async (message) => {
        // With `within` this call ends when the time of the caller's own call is over.
        await stock.request('stock.reserve', message.data, { within: message })
        const order = { id: orders.size + 1, ...message.data, paid: false }
        orders.set(order.id, order)
        changes.emit('order', order)
        return order
      },
      { data: NewOrder, response: Order, errors: { OUT_OF_STOCK: Left }, passes: ['OUT_OF_STOCK'] }
    )
    .message('orders.get', ({ data }) => find(data.id), { data: OrderId, response: Order })
    .message(
      'orders.watch',
      // All orders, then each that is placed or paid, until the caller leaves.
      async function* ({ signal }) {
        yield* orders.values()
        for await (const [order] of on(changes, 'order', { signal })) yield order as Order
      },
      { response: Order }
    )
    .event(
      'orders.paid',
      async ({ data }) => {
        const order = find(data.id)
        order.paid = true
        changes.emit('order', order)
        await stock.emit('stock.ship', { item: order.item, quantity: order.quantity })
      },
      { data: OrderId }
    )
    .onStop(() => stock.close())
}

/** The type of the service, for its callers: `connect<Orders>()`. */
export type Orders = ReturnType<typeof newOrders>
