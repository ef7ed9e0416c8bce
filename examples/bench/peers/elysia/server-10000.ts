/** The echo server of this project among 9,999 other patterns. */
import { microservice } from 'elysia-microservices'
import { runServer } from '../run-server.ts'

await runServer(7008, async ({ host, port, work }) => {
  const service = microservice({ transport: 'tcp', host, port })
  for (let n = 1; n < 10_000; n++) service.message(`pattern.of.${n}`, () => n)
  service.message('echo', ({ data }) => work.answer(data))
  await service.listen()
  return { port: service.address!.port, stop: () => service.stop() }
})
