/** The echo server of this project, with the class a Nest user has. Like Nest's it has no HTTP port. */
import { EventPattern, MessagePattern, microservice, Payload } from 'elysia-microservices'
import { runServer, type Work } from '../run-server.ts'

function controllerFor(work: Work) {
  class EchoController {
    @MessagePattern('echo')
    echo(@Payload() data: unknown): unknown {
      return work.answer(data)
    }

    @MessagePattern('count')
    count(@Payload() count: number): unknown {
      return work.records(count)
    }

    @EventPattern('event')
    event(@Payload() _data: unknown): void {
      work.event()
    }
  }
  return EchoController
}

await runServer(7001, async ({ host, port, work }) => {
  const service = microservice({ transport: 'tcp', host, port, controllers: [controllerFor(work)] })
  await service.listen()
  return { port: service.address!.port, stop: () => service.stop() }
})
