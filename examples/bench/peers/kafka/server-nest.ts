/** Nest's echo server over Kafka, as its documentation shows it. */
import { NestFactory } from '@nestjs/core'
import { type MicroserviceOptions, Transport } from '@nestjs/microservices'
import { echoModule } from '../nest/echo-module.ts'
import { runServer } from '../run-server.ts'
import { startKafka } from './kafka-server.ts'
import { makeTopics } from './topics.ts'

await runServer(7082, async ({ host, port, work }) => {
  const server = await startKafka(host, port)
  const broker = `${host}:${server.port}`
  await makeTopics(broker, ['echo', 'count', 'event', 'echo.reply', 'count.reply'])
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(echoModule(work), {
    transport: Transport.KAFKA,
    options: { client: { brokers: [broker] }, consumer: { groupId: 'echo' } },
    logger: ['error']
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
