/** A service of this project that only waits. */
import { microservice } from 'elysia-microservices'
import { runIdleServer } from '../run-idle-server.ts'

await runIdleServer(async ({ host, port, patterns }) => {
  const service = microservice({ transport: 'tcp', host, port })
  for (const pattern of patterns) service.message(pattern, () => pattern)
  await service.listen()
  return service.address!.port
})
