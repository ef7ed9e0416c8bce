/** `npm run orders` runs both services, and starts PostgreSQL and NATS if they are not running. */
import { defineConfig } from '@elysia-microservices/cli'

export default defineConfig({
  engines: { postgres: true, nats: true },
  services: {
    payments: { entry: 'payments.ts', runtime: 'bun' },
    orders: { entry: 'orders.ts', runtime: 'bun', after: ['payments'] }
  }
})
