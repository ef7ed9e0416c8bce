/** The service: at SIGTERM it finishes the calls in flight, for which `orders.yaml` leaves enough time. */
import { health } from '@elysia-microservices/telemetry'
import { type Message, microservice } from 'elysia-microservices'

const orders = microservice({
  name: 'orders',
  transport: 'tcp',
  host: '0.0.0.0', // every pod can connect; a NetworkPolicy restricts which pods may
  port: Number(process.env['PORT'] ?? 4000),
  drain: 20_000
})
  .use(health({ port: Number(process.env['HEALTH_PORT'] ?? 8081) }))
  .message('orders.get', async ({ data }: Message<{ id: string }>) => {
    console.log(`Looking for order ${data.id}`)
    await new Promise((resolve) => setTimeout(resolve, 100)) // stands for a query to a database
    return { id: data.id, pod: process.env['HOSTNAME'] ?? 'here' }
  })
await orders.listen()
export type Orders = typeof orders
