/** The echo service of this project over Redis. */
import { redis } from '@elysia-microservices/redis'
import { microservice } from 'elysia-microservices'
import { echoController } from '../elysia/echo-controller.ts'
import { runServer } from '../run-server.ts'
import { startRedisServer } from './redis-server.ts'

await runServer(7051, async ({ host, port, work }) => {
  const server = await startRedisServer(host, port)
  const transport = redis({ host, port: server.port })
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
