/** The program that serves HTTP and calls the services. */
import { node } from '@elysiajs/node'
import { Elysia } from 'elysia'
import { connect } from 'elysia-microservices/client'
import type { Orders } from './orders.ts'
import { newRoutes } from './routes.ts'
import { newTransport } from './transport.ts'

const { PORT = '3000' } = process.env

// The last line of this file handles signals: the adapter's own shutdown takes a second longer.
const server = { port: Number(PORT), gracefulShutdown: false }

const app = new Elysia({ adapter: node() })
  .use(newRoutes(() => connect<Orders>({ transport: newTransport('orders') })))
  .listen(server, () => console.log(`The gateway listens: http://localhost:${PORT}/openapi`))

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => app.stop())
