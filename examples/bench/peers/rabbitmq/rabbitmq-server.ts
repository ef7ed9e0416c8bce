/** A RabbitMQ server for one target, in a folder of its own. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../process/free-port.ts'
import { type EngineServer, startEngine } from '../engine-server.ts'

/** Where Debian has it; what is on the PATH wants to be another user. */
const INSTALLED = '/usr/lib/rabbitmq/lib'
const ADVICE =
  'Install it ("apt-get install --no-install-recommends rabbitmq-server"), or set RABBITMQ_SERVER to the path of its script.'

/**
 * Starts it: `RABBITMQ_SERVER`, or Debian's.
 * @param port 0: any free one
 * @throws {BenchError} it does not listen
 */
export async function startRabbitmqServer(host: string, port: number): Promise<EngineServer> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-rabbitmq-'))
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  process.once('exit', remove)
  writeFileSync(join(folder, 'plugins'), '[].')
  // Erlang's list of nodes, which would stay as a daemon if the server started it.
  const nodes = await startEngine('epmd', host, 0, {
    flags: (wanted) => ['-address', host, '-port', String(wanted)],
    advice: ADVICE
  })
  const distribution = await freePort(host)
  const server = await startEngine('env', host, port, {
    flags: (wanted) => [
      ...Object.entries({
        HOME: folder,
        // Otherwise a script stays beside the server, and takes the signals.
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
