/** A running `program.ts`: its output, and when all of its processes have ended. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { programArguments, testsFolder } from '../workspace.ts'
import type { Fact, ProgramOptions } from './program.ts'

/** A supervisor and its workers. */
export class RunningProgram {
  /** The facts that its processes have printed, in order. */
  readonly facts: Fact[] = []
  /** The output on stderr. */
  log = ''
  /** The exit code or signal of the supervisor, once no process is left: workers hold its stdout, too. */
  readonly ended: Promise<number | string | null>
  readonly #process: ChildProcess
  #waiting: (() => void)[] = []
  /** How the program has ended, as text. */
  #end: string | undefined
  #clients: UntypedClient[] = []

  /** @param ownGroup whether its processes are a process group, like those of a command in a terminal */
  constructor(options: ProgramOptions, ownGroup = false) {
    this.#process = spawn(
      process.execPath,
      [...programArguments('workers/program'), JSON.stringify(options), 'second'],
      {
        cwd: testsFolder,
        detached: ownGroup,
        stdio: ['ignore', 'pipe', 'pipe']
      }
    )
    createInterface({ input: this.#process.stdout! }).on('line', (line) => {
      this.facts.push(JSON.parse(line) as Fact)
      for (const wake of this.#waiting.splice(0)) wake()
    })
    this.#process.stderr!.on('data', (chunk) => {
      this.log += chunk
      for (const wake of this.#waiting.splice(0)) wake()
    })
    this.ended = new Promise((resolve) => {
      this.#process.once('close', (code, signal) => {
        this.#end = String(code ?? signal)
        resolve(code ?? signal)
        for (const wake of this.#waiting.splice(0)) wake()
      })
    })
  }

  get pid(): number {
    return this.#process.pid as number
  }

  /** Sends a signal to the supervisor. */
  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }

  /**
   * Waits until a condition on the output and the log holds.
   * @throws {Error} the program has ended before
   */
  async until<Value>(find: () => Value | undefined | false): Promise<Value> {
    for (;;) {
      const found = find()
      if (found !== undefined && found !== false) return found
      if (this.#end !== undefined)
        throw new Error(`The program has ended (${this.#end}) before that happened. Its log: ${this.log}`)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  /** Waits for the next fact of a kind, after the first `skip` facts of this kind. */
  fact<Key extends keyof Fact>(key: Key, skip = 0): Promise<NonNullable<Fact[Key]>> {
    return this.until(() => this.facts.filter((fact) => fact[key] !== undefined)[skip]?.[key] as never)
  }

  /** The ids of the processes that answer requests at the moment. */
  async workers(): Promise<readonly number[]> {
    const before = this.facts.filter(({ pids }) => pids !== undefined).length
    this.kill('SIGUSR2')
    return this.fact('pids', before)
  }

  async port(): Promise<number> {
    return (await this.fact('address')).port
  }

  /** A client with its own connection. */
  async client(options: object = {}): Promise<UntypedClient> {
    const client = connect({
      host: '127.0.0.1',
      port: await this.port(),
      reconnect: { minDelay: 10, maxDelay: 100 },
      ...options
    })
    this.#clients.push(client)
    return client
  }

  /** Opens clients until each worker has the connection of one client. */
  async clientOfEachWorker(options: object = {}): Promise<ReadonlyMap<number, UntypedClient>> {
    const workers = await this.workers()
    const found = new Map<number, UntypedClient>()
    while (found.size < workers.length) {
      const client = await this.client(options)
      const pid = await client.request<number>('pid')
      if (!found.has(pid)) found.set(pid, client)
    }
    return found
  }

  /** Ends the program, whatever is left of it. */
  async end(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()))
    this.kill('SIGKILL')
    await this.ended
  }
}

/** Programs with two workers for the tests of a file, and a function that ends them. */
export function programs() {
  const running: RunningProgram[] = []
  return {
    run(options: ProgramOptions = {}, ownGroup = false): RunningProgram {
      const program = new RunningProgram(
        { ...options, service: { workers: 2, ...options.service } },
        ownGroup
      )
      running.push(program)
      return program
    },
    async endAll(): Promise<void> {
      for (const program of running.splice(0)) await program.end()
    }
  }
}
