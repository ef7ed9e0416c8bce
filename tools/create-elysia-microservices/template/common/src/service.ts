/** The program that runs the service `orders`. */
import { health } from '@elysia-microservices/telemetry'
import { connect } from 'elysia-microservices/client'
import { newOrders } from './orders.ts'
import type { Stock } from './stock.ts'
import { newTransport } from './transport.ts'

const { HEALTH_PORT = '8081' } = process.env

const stock = connect<Stock>({ transport: newTransport('stock'), timeout: 5_000 })
const orders = newOrders(newTransport('orders'), stock).use(health({ port: Number(HEALTH_PORT) }))
await orders.listen()
console.log(`orders is listening; its health: http://localhost:${HEALTH_PORT}/healthz`)
