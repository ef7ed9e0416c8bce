/** The same application on this library. Nest makes the classes; it no longer listens. */
import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import { microservice } from 'elysia-microservices'
import { AppModule } from './app.module.ts'
import { OrdersController } from './orders/orders.controller.ts'
import { validation } from './validation.ts'

const port = Number(process.env['PORT'] ?? 4000)
const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] })
const service = microservice({
  transport: 'tcp',
  host: '127.0.0.1',
  port,
  controllers: [OrdersController],
  nest: {
    // `app` says the same as the next two lines, and finds APP_GUARD and the like; there are none here.
    resolve: (type) => app.get(type),
    lifecycle: false, // Nest calls the hooks of what it has made
    pipes: [validation]
  }
})
// With HTTP beside it: new Elysia().use(service).listen(3000)
await service.listen()
console.log(`listening on port ${port}`)

process.once('SIGTERM', async () => {
  await service.stop()
  await app.close()
})
