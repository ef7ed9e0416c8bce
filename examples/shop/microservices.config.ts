/** The services that `elysia-microservices dev` runs, and engines of their own where the environment names none. */
import { defineConfig } from '@elysia-microservices/cli'

/** The tests run what is compiled. */
const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
const entry = (name: string) => `services/${name}.${extension}`

export default defineConfig({
  engines: { postgres: { port: 0 }, nats: { port: 0 } },
  services: {
    stock: entry('stock'),
    payments: entry('payments'),
    orders: { entry: entry('orders'), after: ['stock'] },
    gateway: { entry: entry('gateway'), after: ['orders', 'payments'] }
  }
})
