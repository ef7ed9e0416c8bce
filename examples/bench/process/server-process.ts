/** A server that the bench starts and stops: its process, from the command to the last signal. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BenchError } from '../errors.ts'
import type { Runtime } from '../options/bench-options.ts'
import { pinned } from './pinning.ts'

const BENCH_FOLDER = join(import.meta.dirname, '..')
/** Milliseconds a server gets to listen, and to end after SIGTERM. */
const PATIENCE = { start: 20_000, stop: 3_000 }

export interface ServerOptions {
  /** Path of the program without extension, below the bench's folder. */
  readonly program: string
  readonly runtime: Runtime
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** CPU it runs on; `null`: any. */
  readonly cpu: number | null
}

/** Every process started here that has not ended, also one that does not listen yet. */
const running = new Set<ServerProcess>()

type Child = Bun.Subprocess<'pipe', 'pipe', 'inherit'>

export class ServerProcess {
  readonly pid: number
  readonly exited: Promise<number>
  readonly #child: Child
  #port = 0

  /**
   * Starts the program and waits until it listens.
   *
   * @throws BenchError if it ends or stays silent instead
   */
  static async start(options: ServerOptions): Promise<ServerProcess> {
    const server = new ServerProcess(
      Bun.spawn(pinned(options.cpu, command(options)), {
        cwd: BENCH_FOLDER,
        env: { ...process.env, NODE_ENV: 'production' },
        // The server ends when its stdin does: see `--with-parent`.
        stdio: ['pipe', 'pipe', 'inherit']
      })
    )
    const port = await listeningPort(server.#child.stdout, PATIENCE.start)
    if (port === undefined) {
      server.kill()
      const code = await server.exited
      throw new BenchError(
        `The server ${options.program} (${options.runtime}) did not start on ${options.host}:${options.port}: ` +
          `exit code ${code}. Start it by hand to see why.`
      )
    }
    server.#port = port
    return server
  }

  private constructor(child: Child) {
    this.#child = child
    this.pid = child.pid
    this.exited = child.exited
    running.add(this)
    void child.exited.then(() => running.delete(this))
  }

  /** Where it listens. */
  get port(): number {
    return this.#port
  }

  /** Resolves once the process is gone: SIGTERM, and SIGKILL if that is not enough. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.kill(), PATIENCE.stop)
    await this.exited
    clearTimeout(timer)
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}

/** Resolves once every server started here is gone. */
export async function stopServers(): Promise<void> {
  await Promise.all([...running].map((server) => server.stop()))
}

// The last guard, for ends that leave no time to wait.
process.on('exit', () => {
  for (const server of running) server.kill()
})

const command = ({ program, runtime, host, port }: ServerOptions): string[] => [
  ...(runtime === 'bun'
    ? [process.execPath, join(BENCH_FOLDER, `${program}.ts`)]
    : [nodePath(), compiled(program)]),
  `--host=${host}`,
  `--port=${port}`,
  '--with-parent'
]

function compiled(program: string): string {
  const path = join(BENCH_FOLDER, 'dist', `${program}.js`)
  if (existsSync(path)) return path
  throw new BenchError(
    `--runtime=node runs dist/${program}.js, which is not there. Run \`npm run build\` first.`
  )
}

/** Node on PATH. Where there is none, `bun run` puts Bun there under Node's name, which would measure Bun. */
function nodePath(): string {
  const path = Bun.which('node')
  if (path !== null && nodeVersion() !== null) return path
  throw new BenchError('--runtime=node needs Node on the PATH, and found none.')
}

/** The version of Node on PATH, `null` if there is none. */
export function nodeVersion(): string | null {
  if (Bun.which('node') === null) return null
  const { success, stdout } = Bun.spawnSync([
    'node',
    '-p',
    'process.versions.bun ? "" : process.versions.node'
  ])
  return success ? stdout.toString().trim() || null : null
}

/** Reads a server's stdout to its end, so that it never blocks; `undefined` if it ends or `milliseconds` pass first. */
async function listeningPort(
  stdout: ReadableStream<Uint8Array>,
  milliseconds: number
): Promise<number | undefined> {
  const { promise, resolve } = Promise.withResolvers<number | undefined>()
  const timer = setTimeout(resolve, milliseconds, undefined)
  const decoder = new TextDecoder()
  const read = async () => {
    let said = ''
    let found = false
    for await (const chunk of stdout) {
      if (found) continue
      said += decoder.decode(chunk, { stream: true })
      const port = /^listening on tcp:\/\/.+:(\d+)$/m.exec(said)?.[1]
      found = port !== undefined
      if (found) resolve(Number(port))
    }
    resolve(undefined)
  }
  void read()
  const port = await promise
  clearTimeout(timer)
  return port
}
