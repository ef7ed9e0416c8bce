/** The application as a Nest microservice. */
import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import { type MicroserviceOptions, Transport } from '@nestjs/microservices'
import { AppModule } from './app.module.ts'
import { validation } from './validation.ts'

const port = Number(process.env['PORT'] ?? 4000)
const app = await NestFactory.createMicroservice<MicroserviceOptions>(AppModule, {
  transport: Transport.TCP,
  options: { host: '127.0.0.1', port },
  logger: ['error', 'warn']
})
app.useGlobalPipes(validation)
app.enableShutdownHooks()
await app.listen()
console.log(`listening on port ${port}`)
