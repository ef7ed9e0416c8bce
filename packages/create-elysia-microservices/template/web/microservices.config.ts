/** What `elysia-microservices dev` runs. */
import { defineConfig } from '@elysia-microservices/cli'

export default defineConfig({
  services: {
    orders: 'src/web.ts',
    gateway: { entry: 'src/gateway.ts', after: ['orders'] }
  }
})
