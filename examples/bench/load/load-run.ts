/** A load from its start to its figures, wherever it runs: in this process or, by the same commands, in others. */
import type { Load } from './load.ts'
import type { Counts, Meter } from './meter.ts'

export interface LoadTotals extends Counts {
  /** User and system time of the measured time, of all load processes, in microseconds. */
  readonly cpuUs: number
}

/** The figures of a load while it runs. */
export interface Gauge {
  /** Right answers so far. */
  readonly answered: number
  readonly errors: number
  /** Milliseconds, of the requests since this was last asked; `null`: none, or not known. */
  recentP99(): number | null
}

/** The commands, in the order in which they are given. */
export interface LoadRun extends Gauge {
  /** Resolves when it cannot go on. */
  readonly broken: Promise<unknown>
  /** Begins the warm-up. All connections are up already. */
  start(): void
  /** The measured time begins, and ends. */
  measure(): void
  stop(): void
  /** Sends nothing more, waits for outstanding answers up to `patience` milliseconds. */
  finish(patience: number): Promise<LoadTotals>
  close(): Promise<void>
}

export class LocalRun implements LoadRun {
  /** It would take this process with it. */
  readonly broken = new Promise<never>(() => {})
  readonly #load: Load
  readonly #meter: Meter
  #cpu: NodeJS.CpuUsage | undefined
  #cpuUs = 0

  constructor(load: Load, meter: Meter) {
    this.#load = load
    this.#meter = meter
  }

  get answered(): number {
    return this.#meter.answered
  }

  get errors(): number {
    return this.#meter.errors
  }

  recentP99(): number | null {
    return this.#meter.recentP99()
  }

  start(): void {
    this.#load.start()
  }

  measure(): void {
    this.#cpu = process.cpuUsage()
    this.#meter.start()
  }

  stop(): void {
    this.#meter.stop()
    const { user, system } = process.cpuUsage(this.#cpu)
    this.#cpuUs = user + system
  }

  async finish(patience: number): Promise<LoadTotals> {
    await this.#load.finish(patience)
    return { ...this.#meter.counts(), cpuUs: this.#cpuUs }
  }

  close(): Promise<void> {
    return this.#load.close()
  }
}
