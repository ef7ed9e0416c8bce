/** The echo service of this project over NATS. */
import { nats } from '@elysia-microservices/nats'
import { microservice } from 'elysia-microservices'
import { echoController } from '../elysia/echo-controller.ts'
import { runServer } from '../run-server.ts'
import { startNatsServer } from './nats-server.ts'

await runServer(7014, async ({ host, port, work }) => {
  const server = await startNatsServer(host, port)
  const transport = nats({ servers: `nats://${host}:${server.port}` })
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
