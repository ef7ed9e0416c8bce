/** The echo service of this project over NATS. */
import { nats } from '@elysia-microservices/nats'
import { MessagePattern, microservice, Payload } from 'elysia-microservices'
import { runServer } from '../run-server.ts'
import { startNatsServer } from './nats-server.ts'

await runServer(7014, async ({ host, port, work }) => {
  class EchoController {
    @MessagePattern('echo')
    echo(@Payload() data: unknown): unknown {
      return work.answer(data)
    }
  }
  const server = await startNatsServer(host, port)
  const transport = nats({ servers: `nats://${host}:${server.port}` })
  const service = microservice({ name: 'echo', transport, controllers: [EchoController] })
  await service.listen()
  return {
    port: server.port,
    async stop() {
      await service.stop()
      await server.stop()
    }
  }
})
