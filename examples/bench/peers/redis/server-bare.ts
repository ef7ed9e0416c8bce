/**
 * The echo with ioredis alone, used for speed: one channel, pipelines, JSON read and written as an application would.
 */
import { Redis } from 'ioredis'
import { runServer } from '../run-server.ts'
import { startRedisServer } from './redis-server.ts'

await runServer(7053, async ({ host, port }) => {
  const server = await startRedisServer(host, port)
  const options = { host, port: server.port, enableAutoPipelining: true }
  const [commands, hearing] = [new Redis(options), new Redis(options)]
  hearing.on('message', (_channel, text) => {
    const { reply, id, data } = JSON.parse(text) as { reply: string; id: number; data: unknown }
    void commands.publish(reply, JSON.stringify({ id, data }))
  })
  await hearing.subscribe('echo')
  return {
    port: server.port,
    async stop() {
      commands.disconnect()
      hearing.disconnect()
      await server.stop()
    }
  }
})
