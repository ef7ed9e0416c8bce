/** `program.ts` while it runs: what it says, and when all of its processes have ended. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { programFile, testsFolder } from '../workspace.ts'
import type { Fact, ProgramOptions } from './program.ts'

/** A supervisor and its workers. */
export class RunningProgram {
  /** The facts that its processes have printed, in order. */
  readonly facts: Fact[] = []
  /** Their log. */
  log = ''
  /** Exit code or signal of the supervisor, once no process is left: workers hold its stdout, too. */
  readonly ended: Promise<number | string | null>
  readonly #process: ChildProcess
  #waiting: (() => void)[] = []
  /** How it has ended, in words. */
  #end: string | undefined
  #clients: UntypedClient[] = []

  /** @param ownGroup its processes are a group, as those of a terminal's command are */
  constructor(options: ProgramOptions, ownGroup = false) {
    this.#process = spawn(
      process.execPath,
      [programFile('workers/program'), JSON.stringify(options), 'second'],
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
   * Waits until something holds of what was said and logged.
   * @throws {Error} the program has ended, and it does not
   */
  async until<Value>(find: () => Value | undefined | false): Promise<Value> {
    for (;;) {
      const found = find()
      if (found !== undefined && found !== false) return found
      if (this.#end !== undefined)
        throw new Error(`The program has ended (${this.#end}) before that happened; it logged: ${this.log}`)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  /** Waits for the fact of a kind that comes after the first `skip` of them. */
  fact<Key extends keyof Fact>(key: Key, skip = 0): Promise<NonNullable<Fact[Key]>> {
    return this.until(() => this.facts.filter((fact) => fact[key] !== undefined)[skip]?.[key] as never)
  }

  /** The processes that answer at the moment. */
  async workers(): Promise<readonly number[]> {
    const before = this.facts.filter(({ pids }) => pids !== undefined).length
    this.kill('SIGUSR2')
    return this.fact('pids', before)
  }

  async port(): Promise<number> {
    return (await this.fact('address')).port
  }

  /** A client with a connection of its own. */
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

  /** Clients until every worker has the connection of one of them. */
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

  /** The end, whatever is left. */
  async end(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()))
    this.kill('SIGKILL')
    await this.ended
  }
}
