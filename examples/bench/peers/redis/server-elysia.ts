/** The echo service of this project over Redis. */
import { redis } from '@elysia-microservices/redis'
import { startOver } from '../elysia/over-engine.ts'
import { runServer } from '../run-server.ts'
import { startRedisServer } from './redis-server.ts'

await runServer(7051, async ({ host, port, work }) => {
  const engine = await startRedisServer(host, port)
  return startOver(engine, redis({ host, port: engine.port }), work)
})
