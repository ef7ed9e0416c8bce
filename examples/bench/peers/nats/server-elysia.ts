/** The echo service of this project over NATS. */
import { nats } from '@elysia-microservices/nats'
import { startOver } from '../elysia/over-engine.ts'
import { runServer } from '../run-server.ts'
import { startNatsServer } from './nats-server.ts'

await runServer(7014, async ({ host, port, work }) => {
  const engine = await startNatsServer(host, port)
  return startOver(engine, nats({ url: `nats://${host}:${engine.port}` }), work)
})
