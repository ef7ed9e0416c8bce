/**
 * The store of events: a Redis server with an append-only file, written every second. The publishers and consumers
 * are measured in another process.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runServer } from '../run-server.ts'
import { startRedisServer } from './redis-server.ts'

await runServer(7054, async ({ host, port }) => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-redis-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  const server = await startRedisServer(host, port, folder)
  return {
    port: server.port,
    async stop() {
      await server.stop()
      remove()
    }
  }
})
