/**
 * The services that `elysia-microservices dev` runs, and the engines that it starts if the environment gives no
 * address of one.
 */
import { defineConfig } from '@elysia-microservices/cli'

/** Under Node the tests run the compiled programs. */
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
