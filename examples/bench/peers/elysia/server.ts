/** The echo server of this project. Like NestJS's, it has no HTTP port. */
import { microservice } from 'elysia-microservices'
import { runServer } from '../run-server.ts'
import { echoController } from './echo-controller.ts'

await runServer(7001, async ({ host, port, work }) => {
  const service = microservice({ transport: 'tcp', host, port, controllers: [echoController(work)] })
  await service.listen()
  return { port: service.address!.port, stop: () => service.stop() }
})
