/** A server that the bench starts and stops: its process, from the command to the last signal. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { BenchError } from '../errors.ts'
import type { ShapeName } from '../payload/payload.ts'
import { deferred } from './deferred.ts'
import { BENCH_FOLDER } from './folder.ts'
import { pinned } from './pinning.ts'
import { commandFor, type Runtime } from './runtime.ts'

/** Milliseconds a server gets to listen, and to end after SIGTERM. */
const PATIENCE = { start: 20_000, stop: 3_000 }

export interface ServerOptions {
  /** Path of the program without extension, below the bench's folder. */
  readonly program: string
  readonly runtime: Runtime
  readonly host: string
  /** What it will echo. */
  readonly shape: ShapeName
  /** 0: any free port. */
  readonly port: number
  /** CPU it runs on; `null`: any. */
  readonly cpu: number | null
}

/** Every process started here that has not ended, also one that does not listen yet. */
const running = new Set<ServerProcess>()

type Child = ChildProcessByStdio<Writable, Readable, null>

export class ServerProcess {
  readonly pid: number
  /** Resolves to the exit code, `null` after a signal. */
  readonly exited: Promise<number | null>
  readonly #child: Child
  #port = 0

  /**
   * Starts the program and waits until it listens.
   *
   * @throws BenchError if it ends or stays silent instead
   */
  static async start(options: ServerOptions): Promise<ServerProcess> {
    const { program, runtime, host, shape } = options
    const [command, ...args] = pinned(options.cpu, [
      ...commandFor(runtime, program),
      `--host=${host}`,
      `--port=${options.port}`,
      `--shape=${shape}`,
      '--with-parent'
    ])
    const server = new ServerProcess(
      spawn(command!, args, {
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
        `The server ${program} (${runtime}) did not start on ${host}:${options.port}: ` +
          `exit code ${code}. Start it by hand to see why.`
      )
    }
    server.#port = port
    return server
  }

  private constructor(child: Child) {
    this.#child = child
    // A process id of nobody, where not even the runtime could be started: `exited` tells.
    this.pid = child.pid ?? 0
    const exited = deferred<number | null>()
    child.once('exit', (code) => exited.resolve(code))
    child.once('error', () => exited.resolve(null))
    // A server that is gone cannot be told anything; `exited` says so.
    child.stdin.on('error', () => {})
    this.exited = exited.promise
    running.add(this)
    void this.exited.then(() => running.delete(this))
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

/** Reads a server's stdout to its end, so that it never blocks; `undefined` if it ends or `milliseconds` pass first. */
async function listeningPort(stdout: Readable, milliseconds: number): Promise<number | undefined> {
  const { promise, resolve } = deferred<number | undefined>()
  const timer = setTimeout(resolve, milliseconds, undefined)
  const lines = createInterface({ input: stdout })
  lines.on('line', (line) => {
    const port = /^listening on tcp:\/\/.+:(\d+)$/.exec(line)?.[1]
    if (port !== undefined) resolve(Number(port))
  })
  lines.once('close', () => resolve(undefined))
  const port = await promise
  clearTimeout(timer)
  return port
}
