/** The echo service of this project over RabbitMQ. */
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { microservice } from 'elysia-microservices'
import { echoController } from '../elysia/echo-controller.ts'
import { runServer } from '../run-server.ts'
import { startRabbitmqServer } from './rabbitmq-server.ts'

await runServer(7061, async ({ host, port, work }) => {
  const server = await startRabbitmqServer(host, port)
  const transport = rabbitmq({ urls: `amqp://${host}:${server.port}` })
  const service = microservice({ name: 'echo', transport, controllers: [echoController(work)] })
  await service.listen()
  return {
    port: server.port,
    async stop() {
      await service.stop()
      await server.stop()
    }
  }
})
