/** A load in several processes: each gets the same commands, and their figures are combined. */

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { BenchError } from '../errors.ts'
import type { BenchOptions } from '../options/bench-options.ts'
import { type Deferred, deferred } from '../process/deferred.ts'
import { pinned } from '../process/pinning.ts'
import { commandFor } from '../process/runtime.ts'
import type { LoadRun, LoadTotals } from './load-run.ts'
import { mergeTotals, shareOf } from './totals.ts'
import type { WorkerSays } from './worker.ts'

/** Milliseconds for which a process may take longer than its command. */
const PATIENCE = 10_000

type Child = ChildProcessByStdio<Writable, Readable, null>

export class RemoteRun implements LoadRun {
  readonly broken: Promise<unknown>
  readonly #workers: readonly Worker[]

  /**
   * Starts the processes and waits until all of them are connected.
   *
   * @throws BenchError a process is not connected
   */
  static async open(options: BenchOptions, port: number, cpus: readonly number[]): Promise<RemoteRun> {
    const workers = Array.from({ length: options.processes }, (_, index) =>
      Worker.start(shareOfOptions(options, index), port, cpus[index % cpus.length] ?? null)
    )
    const run = new RemoteRun(workers)
    try {
      await Promise.all(workers.map((worker) => worker.ready))
    } catch (error) {
      await run.close()
      throw error
    }
    return run
  }

  private constructor(workers: readonly Worker[]) {
    this.#workers = workers
    this.broken = Promise.race(workers.map((worker) => worker.exited))
  }

  get answered(): number {
    return this.#workers.reduce((sum, { answered }) => sum + answered, 0)
  }

  get errors(): number {
    return this.#workers.reduce((sum, { errors }) => sum + errors, 0)
  }

  /** The p99 of the slowest process, because the histograms are not here yet. */
  recentP99(): number | null {
    const known = this.#workers.map(({ p99 }) => p99).filter((p99) => p99 !== null)
    return known.length === 0 ? null : Math.max(...known)
  }

  start(): void {
    this.#tell('start')
  }

  measure(): void {
    this.#tell('measure')
  }

  stop(): void {
    this.#tell('stop')
  }

  async finish(patience: number): Promise<LoadTotals> {
    this.#tell(`finish ${patience}`)
    const timer = setTimeout(() => this.#kill(), patience + PATIENCE)
    const totals = await Promise.all(this.#workers.map((worker) => worker.totals))
    clearTimeout(timer)
    return mergeTotals(totals)
  }

  async close(): Promise<void> {
    this.#tell('close')
    const timer = setTimeout(() => this.#kill(), PATIENCE)
    await Promise.all(this.#workers.map((worker) => worker.exited))
    clearTimeout(timer)
  }

  #tell(command: string): void {
    for (const worker of this.#workers) worker.tell(command)
  }

  #kill(): void {
    for (const worker of this.#workers) worker.kill()
  }
}

/** The share of one process in the callers, the connections and the rate. */
function shareOfOptions(options: BenchOptions, index: number): BenchOptions {
  const { processes, concurrency, connections, rate } = options
  return {
    ...options,
    processes: 1,
    concurrency: shareOf(concurrency, processes, index),
    connections: shareOf(connections, processes, index),
    rate: rate === null ? null : rate / processes
  }
}

class Worker {
  answered = 0
  errors = 0
  p99: number | null = null
  readonly exited: Promise<void>
  readonly #child: Child
  readonly #ready: Deferred<void> = deferred()
  readonly #totals: Deferred<LoadTotals> = deferred()

  static start(options: BenchOptions, port: number, cpu: number | null): Worker {
    const [command, ...args] = pinned(cpu, commandFor(options.runtime, 'run-worker'))
    const child = spawn(command!, args, { env: process.env, stdio: ['pipe', 'pipe', 'inherit'] })
    const worker = new Worker(child)
    worker.tell(JSON.stringify({ options, port }))
    return worker
  }

  private constructor(child: Child) {
    this.#child = child
    const exited = deferred()
    const end = () => {
      exited.resolve()
      this.#fail(new BenchError('A load process ended before its work was done.'))
    }
    child.once('exit', end)
    child.once('error', end)
    // A process that has ended cannot receive commands, which `exited` reports.
    child.stdin.on('error', () => {})
    createInterface({ input: child.stdout }).on('line', (line) => this.#hear(JSON.parse(line) as WorkerSays))
    this.exited = exited.promise
    // A rejection without a listener: readers that come later still get the error.
    this.ready.catch(() => {})
    this.totals.catch(() => {})
  }

  get ready(): Promise<void> {
    return this.#ready.promise
  }

  get totals(): Promise<LoadTotals> {
    return this.#totals.promise
  }

  tell(command: string): void {
    this.#child.stdin.write(`${command}\n`)
  }

  /** Kills a process that does not answer any more. */
  kill(): void {
    this.#fail(new BenchError('A load process did not answer any more and was ended.'))
    this.#child.kill('SIGKILL')
  }

  #hear(said: WorkerSays): void {
    if (said.event === 'ready') this.#ready.resolve()
    else if (said.event === 'failed') this.#fail(new BenchError(said.reason))
    else if (said.event === 'totals') this.#totals.resolve(said.totals)
    else ({ answered: this.answered, errors: this.errors, p99: this.p99 } = said)
  }

  #fail(error: BenchError): void {
    this.#ready.reject(error)
    this.#totals.reject(error)
  }
}
