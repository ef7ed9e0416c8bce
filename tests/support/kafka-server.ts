/**
 * Real Kafka servers (each a broker and a controller), on ports of this machine. A server takes seconds to start, so
 * all tests of a process share one, which runs until the process ends.
 */
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync
} from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { EngineProcess, freePort, isOnPath, once } from '@elysia-microservices/test-support'
import { testsFolder } from '../workspace.ts'
import { ownFolder } from './own-folder.ts'

const VERSION = '4.3.1'
/** The folder for the downloaded jars and the data of an empty server; `.ci/packages` fills it. */
const CACHE = join(
  process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
  `elysia-microservices/kafka-${VERSION}`
)
const JARS = join(CACHE, 'jars')
const EMPTY = join(CACHE, 'empty')

/** Options for little memory and a fast start. */
const JAVA = [
  '-Xms128m',
  '-Xmx512m',
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
  '-cp',
  join(JARS, '*')
]

/** The programs that this machine lacks to run a Kafka server; `undefined`: none. */
export const kafkaMissing = once(() => {
  if (!isOnPath('java')) return 'java (a runtime, 17 or later) on the PATH'
  return existsSync(JARS) || isOnPath('mvn') ? undefined : `mvn on the PATH, which fetches Kafka ${VERSION}`
})

function run(program: string, ...args: string[]): void {
  const { status, stderr, stdout } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} has failed: ${stdout}\n${stderr}`)
}

/** Downloads the jars and prepares the data of an empty server, if this was not done before. */
export function fetchKafka(): void {
  mkdirSync(CACHE, { recursive: true })
  // Several processes may do this at the same time, so each writes a folder of its own and then moves it into place.
  const own = mkdtempSync(join(CACHE, 'new-'))
  try {
    if (!existsSync(JARS)) {
      const pom = join(testsFolder, 'support/kafka/pom.xml')
      const wanted = ['dependency:copy-dependencies', '-DincludeScope=runtime']
      run('mvn', '-q', '-B', '-f', pom, ...wanted, `-DoutputDirectory=${join(own, 'jars')}`)
      putThere(join(own, 'jars'), JARS)
    }
    if (!existsSync(EMPTY)) {
      const config = join(own, 'server.properties')
      writeFileSync(config, propertiesOf({ ...ALONE, 'log.dirs': join(own, 'empty') }))
      run('java', ...JAVA, 'kafka.tools.StorageTool', 'format', '-t', 'MkU3OEVBNTcwNTJENDM2Qk', '-c', config)
      putThere(join(own, 'empty'), EMPTY)
    }
  } finally {
    rmSync(own, { recursive: true, force: true })
  }
}

function putThere(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if (!existsSync(to)) throw error
  }
}

/** A broker that is its own controller, with short times: groups notice changes within moments instead of seconds. */
const ALONE: Readonly<Record<string, string | number>> = {
  'process.roles': 'broker,controller',
  'node.id': 1,
  'controller.quorum.voters': '1@127.0.0.1:1',
  listeners: 'PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:1',
  'controller.listener.names': 'CONTROLLER',
  'listener.security.protocol.map':
    'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT',
  'offsets.topic.replication.factor': 1,
  'offsets.topic.num.partitions': 4,
  'transaction.state.log.replication.factor': 1,
  'transaction.state.log.min.isr': 1,
  // A killed server can return only when its controller counts it as lost; but a busy machine must not make a running
  // server count as lost.
  'broker.session.timeout.ms': 2_000,
  'broker.heartbeat.interval.ms': 200,
  'group.initial.rebalance.delay.ms': 0,
  'group.consumer.assignment.interval.ms': 0,
  'group.consumer.min.session.timeout.ms': 1_000,
  'group.consumer.session.timeout.ms': 3_000,
  'group.consumer.min.heartbeat.interval.ms': 50,
  'group.consumer.heartbeat.interval.ms': 200
}

function propertiesOf(properties: Readonly<Record<string, string | number>>): string {
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

/** The addresses of a server: for clients, for clients with TLS or a password, and for other controllers. */
interface Places {
  readonly id: number
  readonly port: number
  readonly tlsPort: number
  readonly saslPort: number
  readonly controllerPort: number
}

async function places(id: number): Promise<Places> {
  const [port, tlsPort] = [await freePort(), await freePort()]
  return { id, port, tlsPort, saslPort: await freePort(), controllerPort: await freePort() }
}

/**
 * Settings of a cluster: each server has a copy of everything, and two of them store a record before it is confirmed.
 */
const CLUSTER = {
  'default.replication.factor': 3,
  'min.insync.replicas': 2,
  'offsets.topic.replication.factor': 3
}

/** A server that keeps its data until the process of the tests ends. */
export class KafkaServerProcess extends EngineProcess {
  // A start takes seconds even on a machine without other work.
  protected override readonly patience = 180_000
  readonly #folder = ownFolder('kafka')
  /**
   * The port for TLS, which requires a certificate of the tests' authority; `saslPort` is for clients with a
   * password.
   */
  readonly tlsPort: number
  readonly saslPort: number

  private constructor(
    { id, port, tlsPort, saslPort, controllerPort }: Places,
    controllers: string,
    more: Readonly<Record<string, string | number>>
  ) {
    super(port, [])
    this.tlsPort = tlsPort
    this.saslPort = saslPort
    cpSync(EMPTY, join(this.#folder, 'data'), { recursive: true })
    const meta = join(this.#folder, 'data/meta.properties')
    const directory = randomBytes(16).toString('base64url')
    const said = readFileSync(meta, 'utf8').replace(/^node\.id=.*$/m, `node.id=${id}`)
    writeFileSync(meta, said.replace(/^directory\.id=.*$/m, `directory.id=${directory}`))
    const certificates = join(testsFolder, 'fixtures/tls')
    const read = (name: string) => readFileSync(join(certificates, name), 'utf8')
    const own = join(this.#folder, 'service.pem')
    writeFileSync(own, read('service.key') + read('service.pem'))
    const at = (name: string, its: number) => `${name}://127.0.0.1:${its}`
    const listeners = [at('PLAINTEXT', port), at('SSL', tlsPort), at('SASL_PLAINTEXT', saslPort)]
    const user = (name: string) => `user_${name}="secret-of-${name}"`
    writeFileSync(
      join(this.#folder, 'server.properties'),
      propertiesOf({
        ...ALONE,
        'log.dirs': join(this.#folder, 'data'),
        'node.id': id,
        'controller.quorum.voters': controllers,
        listeners: [...listeners, at('CONTROLLER', controllerPort)].join(','),
        'advertised.listeners': listeners.join(','),
        'ssl.keystore.type': 'PEM',
        'ssl.keystore.location': own,
        'ssl.truststore.type': 'PEM',
        'ssl.truststore.location': join(certificates, 'authority.pem'),
        'ssl.client.auth': 'required',
        'ssl.endpoint.identification.algorithm': '',
        'sasl.enabled.mechanisms': 'PLAIN',
        'listener.name.sasl_plaintext.plain.sasl.jaas.config': `org.apache.kafka.common.security.plain.PlainLoginModule required ${user('orders')} ${user('caller')};`,
        ...more
      })
    )
  }

  /** Starts a server. @param more further lines of its configuration */
  static async start(more: Readonly<Record<string, string | number>> = {}): Promise<KafkaServerProcess> {
    const [server] = await KafkaServerProcess.#prepare(1, more)
    await (server as KafkaServerProcess).start()
    return server as KafkaServerProcess
  }

  /** Starts a cluster of three servers. */
  static async cluster(): Promise<KafkaServerProcess[]> {
    const servers = await KafkaServerProcess.#prepare(3, CLUSTER)
    await Promise.all(servers.map((server) => server.start()))
    return servers
  }

  static async #prepare(
    size: number,
    more: Readonly<Record<string, string | number>>
  ): Promise<KafkaServerProcess[]> {
    if (!existsSync(EMPTY) || !existsSync(JARS)) fetchKafka()
    const all: Places[] = []
    while (all.length < size) all.push(await places(all.length + 1))
    const controllers = all.map(({ id, controllerPort }) => `${id}@127.0.0.1:${controllerPort}`).join(',')
    return all.map((one) => new KafkaServerProcess(one, controllers, more))
  }

  override async start(): Promise<void> {
    await super.start()
    this.unref()
  }

  /** The address for clients. */
  get broker(): string {
    return `127.0.0.1:${this.port}`
  }

  /** The address with a scheme, by which the torture suite tells engines apart. */
  get url(): string {
    return `kafka://${this.broker}`
  }

  protected async command(): Promise<readonly [string, ...string[]]> {
    return ['java', ...JAVA, 'kafka.Kafka', join(this.#folder, 'server.properties')]
  }
}

/** In a global, because Bun loads this file again for each test file. */
const shared: { testKafka?: Promise<KafkaServerProcess> } = globalThis as object

/** The server that all tests of this process share. */
export function sharedKafka(): Promise<KafkaServerProcess> {
  shared.testKafka ??= KafkaServerProcess.start()
  return shared.testKafka
}
