/** NestJS's echo server with this project's transport, which changes one line. */
import { MicroserviceServer } from '@elysia-microservices/nestjs'
import { NestFactory } from '@nestjs/core'
import type { MicroserviceOptions } from '@nestjs/microservices'
import { echoModule } from '../nest/echo-module.ts'
import { runServer } from '../run-server.ts'

await runServer(7011, async ({ host, port, work }) => {
  const strategy = new MicroserviceServer({ host, port })
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(echoModule(work), {
    strategy,
    logger: ['error', 'warn']
  })
  await app.listen()
  return { port: strategy.address!.port, stop: () => app.close() }
})
