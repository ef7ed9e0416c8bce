/** Nest's echo server over RabbitMQ, as its documentation shows it. */
import { NestFactory } from '@nestjs/core'
import { type MicroserviceOptions, Transport } from '@nestjs/microservices'
import { echoModule } from '../nest/echo-module.ts'
import { runServer } from '../run-server.ts'
import { queueOf } from './queue.ts'
import { startRabbitmqServer } from './rabbitmq-server.ts'

await runServer(7062, async ({ host, port, work }) => {
  const server = await startRabbitmqServer(host, port)
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(echoModule(work), {
    transport: Transport.RMQ,
    options: queueOf(host, server.port),
    logger: ['error', 'warn']
  })
  await app.listen()
  return {
    port: server.port,
    async stop() {
      await app.close()
      await server.stop()
    }
  }
})
