/** The program that serves HTTP. */
import { node } from '@elysiajs/node'
import { Elysia } from 'elysia'
import { connect } from 'elysia-microservices/client'
import type { Orders } from './orders.ts'
import { newRoutes } from './routes.ts'
import { newTransport } from './transport.ts'

const { PORT = '3000' } = process.env

// Signals are for the last line: the adapter's own way takes a second longer.
const server = { port: Number(PORT), gracefulShutdown: false }

const app = new Elysia({ adapter: node() })
  .use(newRoutes(() => connect<Orders>({ transport: newTransport('orders') })))
  .listen(server, () => console.log(`The gateway listens: http://localhost:${PORT}/openapi`))

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => app.stop())
