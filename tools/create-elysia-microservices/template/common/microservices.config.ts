/** The services that `elysia-microservices dev` runs. */
import { defineConfig } from '@elysia-microservices/cli'

export default defineConfig({
  services: {
    stock: 'src/stock-service.ts',
    orders: { entry: 'src/service.ts', after: ['stock'] },
    gateway: { entry: 'src/gateway.ts', after: ['orders'] }
  }
})
