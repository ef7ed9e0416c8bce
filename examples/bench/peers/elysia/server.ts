/** The echo server of this project, with the class a Nest user has. Like Nest's it has no HTTP port. */
import { MessagePattern, microservice, Payload } from 'elysia-microservices'
import { runServer } from '../run-server.ts'

class EchoController {
  @MessagePattern('echo')
  echo(@Payload() data: unknown): unknown {
    return data
  }
}

await runServer(7001, async ({ host, port }) => {
  const service = microservice({ transport: 'tcp', host, port, controllers: [EchoController] })
  await service.listen()
  return { port: service.address!.port, stop: () => service.stop() }
})
