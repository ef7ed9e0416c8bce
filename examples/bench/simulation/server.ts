/** A server of the simulation: it works on one call at a time, and the others wait in the order in which they came. */
import { type Clock, exponential } from './clock.ts'

/** What becomes of a call. */
export interface Job {
  answered(): void
  /** The server does not take it: it has too many. */
  refused(): void
  /** The connection is lost. */
  lost(): void
}

export interface ServerOptions {
  /** Milliseconds of work for a call, in the mean; each takes its own time, exponentially distributed. */
  readonly work: number
  /** Calls worked on at a time. Default: 1. */
  readonly workers?: number
  /** Calls that may be there at a time, with those that wait; more are refused. Default: any number. */
  readonly limit?: number
}

export class Server {
  /** How many times longer it takes than it should. */
  slowness = 1
  /** It takes calls and never answers. */
  hangs = false
  /** Calls that it was given. */
  taken = 0
  readonly #clock: Clock
  readonly #random: () => number
  readonly #work: number
  readonly #workers: number
  readonly #limit: number
  readonly #watchers = new Set<(isUp: boolean) => void>()
  #isUp = true
  #present = new Set<Job>()
  #waiting: Job[] = []
  #busy = 0

  constructor(clock: Clock, random: () => number, options: ServerOptions) {
    this.#clock = clock
    this.#random = random
    this.#work = options.work
    this.#workers = options.workers ?? 1
    this.#limit = options.limit ?? Number.POSITIVE_INFINITY
  }

  get isUp(): boolean {
    return this.#isUp
  }

  /** Is told when the server dies, and when it is back. */
  watch(watcher: (isUp: boolean) => void): void {
    this.#watchers.add(watcher)
  }

  take(job: Job): void {
    this.taken++
    if (!this.#isUp) return job.lost()
    if (this.#present.size >= this.#limit) return job.refused()
    this.#present.add(job)
    if (this.hangs) return
    if (this.#busy < this.#workers) this.#begin(job)
    else this.#waiting.push(job)
  }

  /** It dies with all it has. */
  die(): void {
    if (!this.#isUp) return
    this.#isUp = false
    const present = this.#present
    this.#present = new Set()
    this.#waiting = []
    this.#busy = 0
    for (const watcher of this.#watchers) watcher(false)
    for (const job of present) job.lost()
  }

  comeBack(): void {
    this.#isUp = true
    this.hangs = false
    for (const watcher of this.#watchers) watcher(true)
  }

  #begin(job: Job): void {
    this.#busy++
    const present = this.#present
    this.#clock.after(exponential(this.#work * this.slowness, this.#random), () => {
      // It may have died meanwhile, with all it had.
      if (present !== this.#present) return
      this.#present.delete(job)
      this.#busy--
      job.answered()
      const next = this.#waiting.shift()
      if (next !== undefined) this.#begin(next)
    })
  }
}
