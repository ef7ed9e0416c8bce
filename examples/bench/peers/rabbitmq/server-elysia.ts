/** The echo service of this project over RabbitMQ. */
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { startOver } from '../elysia/over-engine.ts'
import { runServer } from '../run-server.ts'
import { startRabbitmqServer } from './rabbitmq-server.ts'

await runServer(7061, async ({ host, port, work }) => {
  const engine = await startRabbitmqServer(host, port)
  return startOver(engine, rabbitmq({ url: `amqp://${host}:${engine.port}` }), work)
})
