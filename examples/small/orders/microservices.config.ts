/** `npm run orders` runs both services, and PostgreSQL and NATS where they do not run yet. */
import { defineConfig } from '@elysia-microservices/cli'

export default defineConfig({
  engines: { postgres: true, nats: true },
  services: {
    payments: { entry: 'payments.ts', runtime: 'bun' },
    orders: { entry: 'orders.ts', runtime: 'bun', after: ['payments'] }
  }
})
