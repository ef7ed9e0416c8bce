/** The echo service of this project over Kafka. */
import { kafka } from '@elysia-microservices/kafka'
import { startOver } from '../elysia/over-engine.ts'
import { runServer } from '../run-server.ts'
import { startKafka } from './kafka-server.ts'

await runServer(7081, async ({ host, port, work }) => {
  const engine = await startKafka(host, port)
  return startOver(engine, kafka({ url: [`${host}:${engine.port}`], partitions: 1 }), work)
})
