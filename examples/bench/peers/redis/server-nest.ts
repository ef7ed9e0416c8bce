/** Nest's echo server over Redis, as its documentation shows it. */
import { NestFactory } from '@nestjs/core'
import { type MicroserviceOptions, Transport } from '@nestjs/microservices'
import { echoModule } from '../nest/echo-module.ts'
import { runServer } from '../run-server.ts'
import { startRedisServer } from './redis-server.ts'

await runServer(7052, async ({ host, port, work }) => {
  const server = await startRedisServer(host, port)
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(echoModule(work), {
    transport: Transport.REDIS,
    options: { host, port: server.port },
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
