/** The program with the page: the service and the door to it are parts of one app. */
import { node } from '@elysiajs/node'
import { Elysia } from 'elysia'
import { connect } from 'elysia-microservices/client'
import { page } from './assets.ts'
import { door } from './door.ts'
import { newOrders } from './orders.ts'
import type { Stock } from './stock.ts'
import { newTransport } from './transport.ts'

const { WEB_PORT = '3001' } = process.env

// Signals are for the last line: the adapter's own way takes a second longer.
const server = { port: Number(WEB_PORT), gracefulShutdown: false }

const stock = connect<Stock>({ transport: newTransport('stock'), timeout: 5_000 })

const app = new Elysia({ adapter: node() })
  .use(newOrders(newTransport('orders'), stock))
  .use(door)
  .use(page)
  .listen(server, () => console.log(`The page: http://localhost:${WEB_PORT}`))

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => app.stop())
