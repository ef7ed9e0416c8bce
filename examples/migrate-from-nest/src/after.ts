/** The same application on this library. NestJS still creates the classes, but no longer listens. */
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
    // The option `app` does the same as these two lines, and also finds APP_GUARD and similar providers; this
    // application has none.
    resolve: (type) => app.get(type),
    lifecycle: false, // NestJS calls the hooks of the classes that it has created
    pipes: [validation]
  }
})
// To serve HTTP in the same process: new Elysia().use(service).listen(3000)
await service.listen()
console.log(`listening on port ${port}`)

process.once('SIGTERM', async () => {
  await service.stop()
  await app.close()
})
