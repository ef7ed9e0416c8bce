/** `npx elysia-microservices dev` runs both services, and PostgreSQL and NATS where they do not run yet. */
import { defineConfig } from '@elysia-microservices/cli'

export default defineConfig({
  engines: { postgres: true, nats: true },
  services: { payments: 'payments.ts', orders: { entry: 'orders.ts', after: ['payments'] } }
})
