/** The service: what it answers, and which events it takes. */
import { EventEmitter, on } from 'node:events'
import { microservice, RpcError, type Transport } from 'elysia-microservices'
import { NewOrder, Order, OrderId } from './schemas.ts'

/**
 * Makes the service.
 * @param transport what carries its messages; `memory()` in tests
 */
export function newOrders(transport: Transport) {
  const orders = new Map<number, Order>()
  const changes = new EventEmitter().setMaxListeners(0)

  function find(id: number): Order {
    const order = orders.get(id)
    if (order === undefined)
      throw new RpcError({ code: 'ORDER_NOT_FOUND', message: `There is no order ${id}` })
    return order
  }

  return microservice({ name: 'orders', transport, shutdownOn: ['SIGTERM', 'SIGINT'] })
    .message(
      'orders.place',
      ({ data }) => {
        const order = { id: orders.size + 1, ...data, paid: false }
        orders.set(order.id, order)
        changes.emit('order', order)
        return order
      },
      { data: NewOrder, response: Order }
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
      ({ data }) => {
        const order = find(data.id)
        order.paid = true
        changes.emit('order', order)
      },
      { data: OrderId }
    )
}

/** Its type, for those who call it: `connect<Orders>()`. */
export type Orders = ReturnType<typeof newOrders>
