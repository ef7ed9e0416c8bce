/** Nest's echo server over NATS, as its documentation shows it. */
import { NestFactory } from '@nestjs/core'
import { type MicroserviceOptions, Transport } from '@nestjs/microservices'
import { echoModule } from '../nest/echo-module.ts'
import { runServer } from '../run-server.ts'
import { startNatsServer } from './nats-server.ts'

await runServer(7015, async ({ host, port, work }) => {
  const server = await startNatsServer(host, port)
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(echoModule(work), {
    transport: Transport.NATS,
    options: { servers: [`nats://${host}:${server.port}`], queue: 'echo' },
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
