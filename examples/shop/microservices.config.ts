/** What `elysia-microservices dev` runs: the services, and PostgreSQL where `DATABASE_URL` names none. */
import { defineConfig } from '@elysia-microservices/cli'

/** The tests run what is compiled. */
const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
const entry = (name: string) => `services/${name}.${extension}`

export default defineConfig({
  engines: { postgres: true },
  services: {
    stock: entry('stock'),
    payments: entry('payments'),
    orders: { entry: entry('orders'), after: ['stock', 'payments'] },
    gateway: { entry: entry('gateway'), after: ['orders'] }
  }
})
