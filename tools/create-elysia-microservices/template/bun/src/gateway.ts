/** The program that serves HTTP and calls the services. */
import { Elysia } from 'elysia'
import { connect } from 'elysia-microservices/client'
import type { Orders } from './orders.ts'
import { newRoutes } from './routes.ts'
import { newTransport } from './transport.ts'

const { PORT = '3000' } = process.env

const app = new Elysia()
  .use(newRoutes(() => connect<Orders>({ transport: newTransport('orders') })))
  .listen(Number(PORT), () => console.log(`The gateway listens: http://localhost:${PORT}/openapi`))

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => app.stop())
