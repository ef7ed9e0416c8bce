/** The service: what it answers, and which events it takes. */
import { telemetry } from '@elysia-microservices/telemetry'
import { microservice, RpcError, type Transport } from 'elysia-microservices'
import { NewOrder, Order, OrderId } from './schemas.ts'

/**
 * Makes the service.
 * @param transport what carries its messages; `memory()` in tests
 */
export function newOrders(transport: Transport) {
  const orders = new Map<number, Order>()

  function find(id: number): Order {
    const order = orders.get(id)
    if (order === undefined)
      throw new RpcError({ code: 'ORDER_NOT_FOUND', message: `There is no order ${id}` })
    return order
  }

  return microservice({ name: 'orders', transport, shutdownOn: ['SIGTERM', 'SIGINT'] })
    .use(telemetry()) // figures for the page of `dev`, spans for an OpenTelemetry SDK
    .message(
      'orders.place',
      ({ data }) => {
        const order = { id: orders.size + 1, ...data, paid: false }
        orders.set(order.id, order)
        return order
      },
      { data: NewOrder, response: Order }
    )
    .message('orders.get', ({ data }) => find(data.id), { data: OrderId, response: Order })
    .event(
      'orders.paid',
      ({ data }) => {
        find(data.id).paid = true
      },
      { data: OrderId }
    )
}

/** Its type, for those who call it: `connect<Orders>()`. */
export type Orders = ReturnType<typeof newOrders>
