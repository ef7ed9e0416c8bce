/** A Redis server for one target, which stores nothing. */
import { type EngineServer, startEngine } from '../engine-server.ts'

/**
 * Starts it: `REDIS_SERVER`, or what is on the PATH.
 * @param port 0: any free one
 * @throws {BenchError} it does not listen
 */
export function startRedisServer(host: string, port: number): Promise<EngineServer> {
  return startEngine(process.env['REDIS_SERVER'] ?? 'redis-server', host, port, {
    flags: (wanted) => ['--bind', host, '--port', String(wanted), '--save', '', '--appendonly', 'no'],
    advice: 'Install it ("apt-get install redis-server"), or set REDIS_SERVER to its path.'
  })
}
