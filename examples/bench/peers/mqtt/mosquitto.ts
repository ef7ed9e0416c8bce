/** A mosquitto server for one target. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EngineServer, startEngine } from '../engine-server.ts'

/**
 * Starts the program `MOSQUITTO`, or the one on the PATH.
 * @param port 0: any free port
 * @throws {BenchError} the server does not listen
 */
export async function startMosquitto(host: string, port: number): Promise<EngineServer> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-mqtt-'))
  const file = join(folder, 'mosquitto.conf')
  const server = await startEngine(process.env['MOSQUITTO'] ?? 'mosquitto', host, port, {
    flags(wanted) {
      // A service with many callers gets more than 1,000 messages at a time; by default, mosquitto would drop the
      // others.
      const lines = [`listener ${wanted} ${host}`, 'allow_anonymous true', 'max_queued_messages 0']
      writeFileSync(file, `${lines.join('\n')}\n`)
      return ['-c', file]
    },
    advice: 'Install it ("apt-get install mosquitto"), or set MOSQUITTO to its path.'
  })
  return {
    ...server,
    async stop() {
      await server.stop()
      rmSync(folder, { recursive: true })
    }
  }
}
