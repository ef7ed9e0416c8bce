/**
 * The other service: `bun src/stock.ts`. The application calls it by a NestJS client, which need not know that it is
 * not a NestJS service.
 */
import { microservice } from 'elysia-microservices'
import { MessagePattern, Payload } from 'elysia-microservices/nest'

const COUNTS: Readonly<Record<string, number>> = { tea: 10, cake: 1 }

class StockController {
  @MessagePattern('stock.count')
  count(@Payload() article: string): number {
    return COUNTS[article] ?? 0
  }
}

const port = Number(process.env['PORT'] ?? 4001)
const service = microservice({ transport: 'tcp', host: '127.0.0.1', port, controllers: [StockController] })
await service.listen()
console.log(`listening on port ${port}`)
process.once('SIGTERM', () => void service.stop())
