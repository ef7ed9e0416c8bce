/** Serves HTTP: finds all pods of the service `orders` by DNS, and balances requests among them. */
import { health } from '@elysia-microservices/telemetry'
import { Elysia } from 'elysia'
import { connect } from 'elysia-microservices/client'
import { gateway } from 'elysia-microservices/gateway'
import type { Orders } from './orders.ts'

const { PORT = '3000', ORDERS = 'dns:orders:4000' } = process.env

const app = new Elysia()
  .use(health())
  .use(
    gateway(() => connect<Orders>({ url: [ORDERS], timeout: 5_000 }), {
      'GET /orders/:id': { pattern: 'orders.get', idempotent: true }
    })
  )
  .listen(Number(PORT))

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => app.stop())
