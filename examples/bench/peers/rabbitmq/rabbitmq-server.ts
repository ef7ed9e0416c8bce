/** A RabbitMQ server for one target, in a new folder. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../process/free-port.ts'
import { type EngineServer, startEngine } from '../engine-server.ts'

/** The folder of Debian's scripts; the scripts on the PATH switch to another user. */
const INSTALLED = '/usr/lib/rabbitmq/lib'
const ADVICE =
  'Install it ("apt-get install --no-install-recommends rabbitmq-server"), or set RABBITMQ_SERVER to the path of its script.'

/**
 * Starts the program `RABBITMQ_SERVER`, or Debian's.
 * @param port 0: any free port
 * @throws {BenchError} the server does not listen
 */
export async function startRabbitmqServer(host: string, port: number): Promise<EngineServer> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-rabbitmq-'))
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  process.once('exit', remove)
  writeFileSync(join(folder, 'plugins'), '[].')
  // Erlang's registry of nodes. If the server started it, it would remain as a daemon.
  const nodes = await startEngine('epmd', host, 0, {
    flags: (wanted) => ['-address', host, '-port', String(wanted)],
    advice: ADVICE
  })
  const distribution = await freePort(host)
  const server = await startEngine('env', host, port, {
    flags: (wanted) => [
      ...Object.entries({
        HOME: folder,
        // Otherwise a script would run beside the server, and receive the signals.
        RUNNING_UNDER_SYSTEMD: 1,
        ERL_EPMD_ADDRESS: host,
        ERL_EPMD_PORT: nodes.port,
        RABBITMQ_NODENAME: `bench${wanted}@localhost`,
        RABBITMQ_NODE_IP_ADDRESS: host,
        RABBITMQ_NODE_PORT: wanted,
        RABBITMQ_DIST_PORT: distribution,
        RABBITMQ_MNESIA_BASE: join(folder, 'data'),
        RABBITMQ_LOG_BASE: join(folder, 'log'),
        RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
        RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-start_epmd false'
      }).map(([name, value]) => `${name}=${value}`),
      process.env['RABBITMQ_SERVER'] ?? installed()
    ],
    advice: ADVICE
  }).catch(async (error: unknown) => {
    await nodes.stop()
    throw error
  })
  return {
    port: server.port,
    async stop() {
      await server.stop()
      await nodes.stop()
      remove()
    }
  }
}

function installed(): string {
  try {
    const version = readdirSync(INSTALLED).find((name) => name.startsWith('rabbitmq_server-'))
    if (version !== undefined) return join(INSTALLED, version, 'sbin/rabbitmq-server')
  } catch {}
  return 'rabbitmq-server'
}
