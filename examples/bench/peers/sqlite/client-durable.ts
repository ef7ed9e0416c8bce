/** This project's durable events in a file of SQLite, which waits for the disk (`synchronous = FULL`). */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqlite } from '@elysia-microservices/sqlite'
import { memory } from 'elysia-microservices'
import { storedEvents } from '../durable/ours.ts'
import type { OpenEchoClient } from '../echo-client.ts'

export const openEchoClient: OpenEchoClient = async (_host, _port, plan) => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-sqlite-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  const client = await storedEvents({
    plan,
    transport: memory,
    store: sqlite(join(folder, 'events.db')),
    takesAtMost: 30_000
  })
  return {
    ...client,
    async close() {
      await client.close()
      remove()
    }
  }
}
