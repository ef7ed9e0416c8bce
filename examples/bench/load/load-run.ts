/** A load from its start to its figures, in this process or, with the same commands, in other processes. */
import type { Load } from './load.ts'
import type { Counts, Meter } from './meter.ts'

export interface LoadTotals extends Counts {
  /** The user and system time of all load processes within the measured time, in microseconds. */
  readonly cpuUs: number
}

/** The figures of a load while it runs. */
export interface Gauge {
  /** Right answers so far. */
  readonly answered: number
  readonly errors: number
  /** The p99 in milliseconds of the requests since the last call; `null`: there were none, or it is not known. */
  recentP99(): number | null
}

/** The commands of a load, in the order in which they are called. */
export interface LoadRun extends Gauge {
  /** Resolves when the load cannot go on. */
  readonly broken: Promise<unknown>
  /** Begins the warm-up. All connections are established by then. */
  start(): void
  /** Begins the measured time. */
  measure(): void
  stop(): void
  /** Stops sending, and waits for outstanding answers for up to `patience` milliseconds. */
  finish(patience: number): Promise<LoadTotals>
  close(): Promise<void>
}

export class LocalRun implements LoadRun {
  /** Never settles: a failure would end this process. */
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
