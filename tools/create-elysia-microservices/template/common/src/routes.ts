/** HTTP routes that call the patterns of the service `orders`. */
import { health } from '@elysia-microservices/telemetry'
import { openapi } from '@elysiajs/openapi'
import { Elysia } from 'elysia'
import type { ClientOf } from 'elysia-microservices/client'
import { gateway } from 'elysia-microservices/gateway'
import type { Orders } from './orders.ts'
import { NewOrder, Order, OrderId } from './schemas.ts'

/**
 * Makes the routes, and their OpenAPI documentation at `/openapi`.
 * @param connectOrders makes the client, which is closed when the app stops
 */
export function newRoutes(connectOrders: () => ClientOf<Orders>) {
  return new Elysia()
    .use(openapi())
    .use(health())
    .use(
      gateway(
        connectOrders,
        {
          'POST /orders': { pattern: 'orders.place', status: 201, body: NewOrder, response: Order },
          'GET /orders/:id': { pattern: 'orders.get', params: OrderId, response: Order },
          'POST /orders/:id/payment': { emit: 'orders.paid', params: OrderId }
        },
        { timeout: 5_000, errors: { ORDER_NOT_FOUND: 404, OUT_OF_STOCK: 409 } }
      )
    )
}
