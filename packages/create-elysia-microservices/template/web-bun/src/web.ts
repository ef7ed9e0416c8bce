/** The program with the page: the service and the door to it are parts of one app. */
import { Elysia } from 'elysia'
import { page } from './assets.ts'
import { door } from './door.ts'
import { newOrders } from './orders.ts'
import { newTransport } from './transport.ts'

const { WEB_PORT = '3001' } = process.env

const app = new Elysia()
  .use(newOrders(newTransport()))
  .use(door)
  .use(page)
  .listen(Number(WEB_PORT), () => console.log(`The page: http://localhost:${WEB_PORT}`))

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => app.stop())
