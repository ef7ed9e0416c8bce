/** A Redis server for one target. */
import { type EngineServer, startEngine } from '../engine-server.ts'

/**
 * Starts the program `REDIS_SERVER`, or the one on the PATH.
 * @param port 0: any free port
 * @param folder the folder for its data, written every second; `undefined`: nothing is stored
 * @throws {BenchError} the server does not listen
 */
export function startRedisServer(host: string, port: number, folder?: string): Promise<EngineServer> {
  const storage = folder === undefined ? ['--appendonly', 'no'] : ['--appendonly', 'yes', '--dir', folder]
  return startEngine(process.env['REDIS_SERVER'] ?? 'redis-server', host, port, {
    flags: (wanted) => ['--bind', host, '--port', String(wanted), '--save', '', ...storage],
    advice: 'Install it ("apt-get install redis-server"), or set REDIS_SERVER to its path.'
  })
}
