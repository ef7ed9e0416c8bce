/** The program that runs the service `stock`. */
import { health } from '@elysia-microservices/telemetry'
import { newStock } from './stock.ts'
import { newStore, newTransport } from './transport.ts'

const { STOCK_HEALTH_PORT = '8082' } = process.env

const stock = newStock(newTransport('stock'), newStore()).use(health({ port: Number(STOCK_HEALTH_PORT) }))
await stock.listen()
console.log(`stock is listening; its health: http://localhost:${STOCK_HEALTH_PORT}/healthz`)
