/**
 * Real RabbitMQ servers, on ports of this machine. A server takes seconds to start, so all tests of a process share
 * one, which runs until the process ends.
 */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EngineProcess, freePort } from '@elysia-microservices/test-support'
import { testsFolder } from '../workspace.ts'
import { ownFolder } from './own-folder.ts'

/** The folder with Debian's scripts of RabbitMQ; the scripts on the PATH switch to another user. */
const SCRIPTS = '/usr/lib/rabbitmq/lib'

function scripts(): string | undefined {
  try {
    const [version] = readdirSync(SCRIPTS).filter((name) => name.startsWith('rabbitmq_server-'))
    return version === undefined ? undefined : join(SCRIPTS, version, 'sbin')
  } catch {
    return undefined
  }
}

/** The program that this machine lacks to run a RabbitMQ server; `undefined`: none. */
export function rabbitmqMissing(): string | undefined {
  return scripts() === undefined ? "Debian's rabbitmq-server" : undefined
}

/** Erlang's registry of nodes. If a server started it, it would remain as a daemon. */
class Epmd extends EngineProcess {
  protected async command(): Promise<readonly [string, ...string[]]> {
    return ['epmd', '-address', '127.0.0.1', '-port', String(this.port)]
  }
}

/** The addresses of a server: for clients, and for clients with TLS. */
interface Places {
  readonly epmd: Epmd
  readonly port: number
  readonly tlsPort: number
}

async function newEpmd(): Promise<Epmd> {
  const epmd = new Epmd(await freePort(), [])
  await epmd.start()
  epmd.unref()
  return epmd
}

async function places(epmd: Epmd): Promise<Places> {
  return { epmd, port: await freePort(), tlsPort: await freePort() }
}

function nodeAt(port: number): string {
  return `test${port}@localhost`
}

/** A server that keeps its data until the process of the tests ends. */
export class RabbitmqServerProcess extends EngineProcess {
  // A start takes seconds even on a machine without other work.
  protected override readonly patience = 180_000
  readonly #folder = ownFolder('rabbitmq')
  readonly #epmd: Epmd
  /** The port for other servers. */
  #distributionPort = 0

  /** The port for TLS, which requires a certificate of the tests' authority. */
  readonly tlsPort: number

  private constructor({ epmd, port, tlsPort }: Places, nodes: readonly string[] = []) {
    super(port, [])
    this.tlsPort = tlsPort
    this.#epmd = epmd
    // The secret by which the nodes of a cluster trust each other.
    writeFileSync(join(this.#folder, '.erlang.cookie'), 'TESTS', { mode: 0o400 })
    writeFileSync(join(this.#folder, 'plugins'), '[].')
    const certificates = join(testsFolder, 'fixtures/tls')
    const config = {
      'listeners.ssl.1': `127.0.0.1:${tlsPort}`,
      'ssl_options.cacertfile': join(certificates, 'authority.pem'),
      'ssl_options.certfile': join(certificates, 'service.pem'),
      'ssl_options.keyfile': join(certificates, 'service.key'),
      'ssl_options.verify': 'verify_peer',
      'ssl_options.fail_if_no_peer_cert': 'true',
      ...Object.fromEntries(
        nodes.map((node, n) => [`cluster_formation.classic_config.nodes.${n + 1}`, node] as const)
      )
    }
    const lines = Object.entries(config).map(([name, value]) => `${name} = ${value}\n`)
    writeFileSync(join(this.#folder, 'rabbitmq.conf'), lines.join(''))
  }

  static async start(): Promise<RabbitmqServerProcess> {
    const server = new RabbitmqServerProcess(await places(await newEpmd()))
    await server.start()
    return server
  }

  /** Starts several servers as one cluster. */
  static async cluster(size: number): Promise<RabbitmqServerProcess[]> {
    const epmd = await newEpmd()
    const all: Places[] = []
    while (all.length < size) all.push(await places(epmd))
    const nodes = all.map(({ port }) => nodeAt(port))
    const servers = all.map((one) => new RabbitmqServerProcess(one, nodes))
    // The first one begins the cluster, and the others join it.
    for (const server of servers) await server.start()
    return servers
  }

  override async start(): Promise<void> {
    await super.start()
    this.unref()
  }

  get url(): string {
    return `amqp://127.0.0.1:${this.port}`
  }

  /** The command for an administrative request to the server, such as `list_queues`. */
  ctl(...args: string[]): readonly [string, ...string[]] {
    return ['env', ...this.#environment(), join(scripts() ?? '', 'rabbitmqctl'), '--silent', ...args]
  }

  #environment(): string[] {
    const { port } = this
    const folder = this.#folder
    return Object.entries({
      HOME: folder,
      // Otherwise a script would run beside the server, and receive the signals.
      RUNNING_UNDER_SYSTEMD: 1,
      ERL_EPMD_ADDRESS: '127.0.0.1',
      ERL_EPMD_PORT: this.#epmd.port,
      ERL_CRASH_DUMP: join(folder, 'erl_crash.dump'),
      RABBITMQ_NODENAME: nodeAt(port),
      RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
      RABBITMQ_NODE_PORT: port,
      RABBITMQ_DIST_PORT: this.#distributionPort,
      RABBITMQ_MNESIA_BASE: join(folder, 'data'),
      RABBITMQ_LOG_BASE: join(folder, 'log'),
      RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
      RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq.conf'),
      RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-start_epmd false +S 2:2 +sbwt none'
    }).map(([name, value]) => `${name}=${value}`)
  }

  protected async command(): Promise<readonly [string, ...string[]]> {
    // A new port for each start: while the server is down, the old one may be given to another program.
    this.#distributionPort = await freePort()
    return ['env', ...this.#environment(), join(scripts() ?? '', 'rabbitmq-server')]
  }
}

/** In a global, because Bun loads this file again for each test file. */
const shared: { testRabbitmq?: Promise<RabbitmqServerProcess> } = globalThis as object

/** The server that all tests of this process share. */
export function sharedRabbitmq(): Promise<RabbitmqServerProcess> {
  shared.testRabbitmq ??= RabbitmqServerProcess.start()
  return shared.testRabbitmq
}
