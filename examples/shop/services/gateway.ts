/** HTTP for customers: a page, orders, their progress as Server-Sent Events, and a page that documents these routes. */
import { node } from '@elysiajs/node'
import { openapi } from '@elysiajs/openapi'
import { Elysia, t } from 'elysia'
import { connect } from 'elysia-microservices/client'
import { gateway } from 'elysia-microservices/gateway'
import { addressOf, broker, given } from '../environment.ts'
import { page } from '../page/assets.ts'
import type { Orders } from './orders.ts'
import type { Payments } from './payments.ts'

const Id = t.Object({ id: t.String() })
const Order = t.Object({ id: t.String(), sku: t.String(), count: t.Integer({ minimum: 1, maximum: 100 }) })

const app = new Elysia(process.versions.bun === undefined ? { adapter: node() } : {})
  .use(openapi())
  .use(page)
  .use(
    gateway(
      () => connect<Orders>(addressOf('orders')),
      {
        // The customer's browser chooses the id of the order, so the request may be sent again if its answer is lost.
        'POST /orders': { pattern: 'orders.place', status: 202, body: Order, idempotent: true },
        'GET /orders/:id/progress': { stream: 'orders.progress', params: Id, heartbeat: 15_000 },
        'GET /stock/:sku': 'orders.left'
      },
      { timeout: 3_000 }
    )
  )
  .use(gateway(() => connect<Payments>({ transport: broker() }), { 'GET /payments': 'payments.total' }))
  .listen({ hostname: '127.0.0.1', port: Number(given('PORT', '3000')) })

export type App = typeof app

process.once('SIGTERM', () => app.stop())
