/** The program that runs the service. */
import { health } from '@elysia-microservices/telemetry'
import { newOrders } from './orders.ts'
import { newTransport } from './transport.ts'

const { HEALTH_PORT = '8081' } = process.env

const orders = newOrders(newTransport()).use(health({ port: Number(HEALTH_PORT) }))
await orders.listen()
console.log(`orders is listening; its health: http://localhost:${HEALTH_PORT}/healthz`)
