/** A NATS server that stores events in a new folder, which is deleted at its end. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EngineServer } from '../engine-server.ts'
import { startNatsServer } from '../nats/nats-server.ts'

/** @throws {BenchError} the server does not listen */
export async function startStore(host: string, port: number): Promise<EngineServer> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-store-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  const server = await startNatsServer(host, port, ['-js', '-sd', folder])
  return {
    port: server.port,
    async stop() {
      await server.stop()
      remove()
    }
  }
}
