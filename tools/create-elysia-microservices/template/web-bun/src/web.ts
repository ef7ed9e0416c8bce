/**
 * The program with the web page. One app has the service `orders`, the page, and the WebSocket by which the page
 * calls the service.
 */
import { health } from '@elysia-microservices/telemetry'
import { Elysia } from 'elysia'
import { connect } from 'elysia-microservices/client'
import { page } from './assets.ts'
import { door } from './door.ts'
import { newOrders } from './orders.ts'
import type { Stock } from './stock.ts'
import { newTransport } from './transport.ts'

const { WEB_PORT = '3001' } = process.env

const stock = connect<Stock>({ transport: newTransport('stock'), timeout: 5_000 })

const app = new Elysia()
  .use(newOrders(newTransport('orders'), stock))
  .use(door)
  .use(page)
  .use(health())
  .listen(Number(WEB_PORT), () => console.log(`The page: http://localhost:${WEB_PORT}`))

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => app.stop())
