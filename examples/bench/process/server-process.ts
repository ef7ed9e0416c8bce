/** A server that the bench starts and stops: its process, from the command to the last signal. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createInterface, type Interface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { BenchError } from '../errors.ts'
import type { PayloadShape } from '../payload/payload.ts'
import { flagsOfServer, type Task } from '../task/task.ts'
import { deferred } from './deferred.ts'
import { BENCH_FOLDER } from './folder.ts'
import { isOther, prepareOthers } from './others.ts'
import { pinned } from './pinning.ts'
import { commandFor, type Runtime } from './runtime.ts'

/** Milliseconds within which a server must listen, collect its garbage, count its events, and end after SIGTERM. */
const PATIENCE = { start: 130_000, collect: 20_000, count: 20_000, stop: 3_000 }

export interface ServerOptions {
  /** The path of the program without extension, below the bench's folder. */
  readonly program: string
  readonly runtime: Runtime
  readonly host: string
  /** The shape of the payload to echo; `undefined`: the server is no echo. */
  readonly shape?: PayloadShape
  /** The port; 0: any free port. */
  readonly port: number
  /** The core of the server, or a list such as `0,1`; `null`: any. */
  readonly cpu: number | string | null
  /** The task of the handlers. Default: they answer at once. */
  readonly task?: Task
  /** Further flags of the server. */
  readonly flags?: readonly string[]
  /** The command of a program that neither runtime runs. */
  readonly command?: readonly string[]
  /** Whether to ignore its output on stderr once it listens: frameworks log each error of a request. */
  readonly quiet?: boolean
}

/** The number of events that a server has handled, in all and within the given time. */
export interface EventCount {
  readonly total: number
  readonly measured: number
}

/** Every server process that has not ended, including those that do not listen yet. */
const running = new Set<ServerProcess>()

type Child = ChildProcessByStdio<Writable, Readable, Readable | null>

export class ServerProcess {
  readonly pid: number
  /** Resolves to the exit code, or to `null` after a signal. */
  readonly exited: Promise<number | null>
  readonly #child: Child
  /** The lines of its output. They are read to the end, so that the server never blocks. */
  readonly #lines: Interface
  #port = 0
  #asked = 0
  #hasExited = false
  #isUp = false
  /** The errors of a quiet server before it listened. */
  #complaints = ''

  /**
   * Starts the program, and waits until the server listens.
   *
   * @throws BenchError the server ends, or does not listen in time
   */
  static async start(options: ServerOptions): Promise<ServerProcess> {
    const { program, runtime, host, shape, flags = [], quiet = false } = options
    if (isOther(program)) prepareOthers([runtime])
    const [command, ...args] = pinned(options.cpu, [
      ...(options.command ?? commandFor(runtime, program)),
      `--host=${host}`,
      `--port=${options.port}`,
      ...(shape === undefined ? [] : [`--shape=${shape}`]),
      ...(options.task === undefined ? [] : flagsOfServer(options.task)),
      ...flags,
      '--with-parent'
    ])
    const server = new ServerProcess(
      spawn(command!, args, {
        cwd: BENCH_FOLDER,
        env: { ...process.env, NODE_ENV: 'production' },
        // The server ends when its stdin ends: see `--with-parent`.
        stdio: ['pipe', 'pipe', quiet ? 'pipe' : 'inherit']
      }) as Child
    )
    const said = await server.#hear(/^listening on tcp:\/\/.+:(\d+)$/, PATIENCE.start)
    if (said === undefined) {
      server.kill()
      const code = await server.exited
      if (server.#complaints !== '') process.stderr.write(server.#complaints)
      throw new BenchError(
        `The server ${program} (${runtime}) did not start on ${host}:${options.port}: ` +
          `exit code ${code}. Start it by hand to see why.`
      )
    }
    server.#port = Number(said[1])
    server.#isUp = true
    return server
  }

  private constructor(child: Child) {
    this.#child = child
    // There is no process id if the runtime could not be started, which `exited` reports.
    this.pid = child.pid ?? 0
    const exited = deferred<number | null>()
    child.once('exit', (code) => exited.resolve(code))
    child.once('error', () => exited.resolve(null))
    // A server that has ended cannot receive commands, which `exited` reports.
    child.stdin.on('error', () => {})
    this.exited = exited.promise
    this.#lines = createInterface({ input: child.stdout })
    // Always read, so that the server never blocks on its output.
    child.stderr?.on('data', (chunk: Uint8Array) => {
      if (!this.#isUp) this.#complaints += String(chunk)
    })
    running.add(this)
    void this.exited.then(() => {
      this.#hasExited = true
      running.delete(this)
    })
  }

  /** The port on which the server listens. */
  get port(): number {
    return this.#port
  }

  get hasExited(): boolean {
    return this.#hasExited
  }

  /** Makes the server collect its garbage. `false`: the server cannot, or has ended. */
  async collectGarbage(): Promise<boolean> {
    const answer = this.#hear(/^(not )?collected$/, PATIENCE.collect)
    this.#child.stdin.write('gc\n')
    return (await answer)?.[0] === 'collected'
  }

  /**
   * The number of events that the server has handled, in all and between two values of `systemTime`. `undefined`: the
   * server has ended.
   */
  async countEvents(from: number, to: number): Promise<EventCount | undefined> {
    const id = this.#asked++
    const answer = this.#hear(new RegExp(`^events ${id} (\\d+) (\\d+)$`), PATIENCE.count)
    this.#child.stdin.write(`events ${id} ${from} ${to}\n`)
    const said = await answer
    return said === undefined ? undefined : { total: Number(said[1]), measured: Number(said[2]) }
  }

  /** Stops the server by SIGTERM, and by SIGKILL if it does not end in time. Resolves when the process has ended. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.kill(), PATIENCE.stop)
    await this.exited
    clearTimeout(timer)
  }

  /** The next line of its output that matches; `undefined`: the server has ended, or the time is over. */
  async #hear(pattern: RegExp, milliseconds: number): Promise<RegExpExecArray | undefined> {
    const { promise, resolve } = deferred<RegExpExecArray | undefined>()
    const read = (line: string) => {
      const match = pattern.exec(line)
      if (match !== null) resolve(match)
    }
    const timer = setTimeout(resolve, milliseconds, undefined)
    void this.exited.then(() => resolve(undefined))
    this.#lines.on('line', read)
    const match = await promise
    this.#lines.off('line', read)
    clearTimeout(timer)
    return match
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}

/** Resolves when every server that was started here has ended. */
export async function stopServers(): Promise<void> {
  await Promise.all([...running].map((server) => server.stop()))
}

// A last safeguard, if this process ends without time to wait.
process.on('exit', () => {
  for (const server of running) server.kill()
})
