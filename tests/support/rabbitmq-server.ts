/**
 * Real RabbitMQ servers, on ports of this machine. One takes seconds to start, so the tests of a process share one that is
 * there until the process ends.
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@elysia-microservices/test-support'
import { testsFolder } from '../workspace.ts'
import { EngineProcess } from './engine-process.ts'

/** Where Debian has RabbitMQ's scripts; what is on the PATH wants to be another user. */
const SCRIPTS = '/usr/lib/rabbitmq/lib'

function scripts(): string | undefined {
  try {
    const [version] = readdirSync(SCRIPTS).filter((name) => name.startsWith('rabbitmq_server-'))
    return version === undefined ? undefined : join(SCRIPTS, version, 'sbin')
  } catch {
    return undefined
  }
}

/** The program that is missing to run a RabbitMQ server, in words; `undefined` if none. */
export function rabbitmqMissing(): string | undefined {
  return scripts() === undefined ? "Debian's rabbitmq-server" : undefined
}

/** Erlang's list of nodes, which would stay as a daemon if a server started it. */
class Epmd extends EngineProcess {
  protected async command(): Promise<readonly [string, ...string[]]> {
    return ['epmd', '-address', '127.0.0.1', '-port', String(this.port)]
  }
}

/** Where a server is found: by clients, by those with TLS, by other servers. */
interface Places {
  readonly epmd: Epmd
  readonly port: number
  readonly tlsPort: number
  readonly distributionPort: number
}

async function newEpmd(): Promise<Epmd> {
  const epmd = new Epmd(await freePort(), [])
  await epmd.start()
  epmd.unref()
  return epmd
}

async function places(epmd: Epmd): Promise<Places> {
  return { epmd, port: await freePort(), tlsPort: await freePort(), distributionPort: await freePort() }
}

function nodeAt(port: number): string {
  return `test${port}@localhost`
}

/** A server that keeps what it has stored until the process ends. */
export class RabbitmqServerProcess extends EngineProcess {
  // It takes seconds on a machine that does nothing else.
  protected override readonly patience = 180_000
  readonly #folder = mkdtempSync(join(tmpdir(), 'rabbitmq-'))
  readonly #epmd: Epmd
  readonly #distributionPort: number

  /** Where it takes TLS, from clients with a certificate of the tests' authority. */
  readonly tlsPort: number

  private constructor({ epmd, port, tlsPort, distributionPort }: Places, nodes: readonly string[] = []) {
    super(port, [])
    this.tlsPort = tlsPort
    this.#epmd = epmd
    this.#distributionPort = distributionPort
    // Nodes know each other by it.
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
    process.once('exit', () => rmSync(this.#folder, { recursive: true, force: true }))
  }

  static async start(): Promise<RabbitmqServerProcess> {
    const server = new RabbitmqServerProcess(await places(await newEpmd()))
    await server.start()
    return server
  }

  /** Starts several that are one cluster. */
  static async cluster(size: number): Promise<RabbitmqServerProcess[]> {
    const epmd = await newEpmd()
    const all: Places[] = []
    while (all.length < size) all.push(await places(epmd))
    const nodes = all.map(({ port }) => nodeAt(port))
    const servers = all.map((one) => new RabbitmqServerProcess(one, nodes))
    // One begins the cluster, and the others find it.
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

  /** The command that asks the server something, such as `list_queues`. */
  ctl(...args: string[]): readonly [string, ...string[]] {
    return ['env', ...this.#environment(), join(scripts() ?? '', 'rabbitmqctl'), '--silent', ...args]
  }

  #environment(): string[] {
    const { port } = this
    const folder = this.#folder
    return Object.entries({
      HOME: folder,
      // Otherwise a script stays beside the server, and takes the signals.
      RUNNING_UNDER_SYSTEMD: 1,
      ERL_EPMD_ADDRESS: '127.0.0.1',
      ERL_EPMD_PORT: this.#epmd.port,
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
    return ['env', ...this.#environment(), join(scripts() ?? '', 'rabbitmq-server')]
  }
}

/** Bun reads this file again for each file of tests. */
const shared: { testRabbitmq?: Promise<RabbitmqServerProcess> } = globalThis as object

/** The server of all tests of this process. */
export function sharedRabbitmq(): Promise<RabbitmqServerProcess> {
  shared.testRabbitmq ??= RabbitmqServerProcess.start()
  return shared.testRabbitmq
}
