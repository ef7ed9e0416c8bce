/** Watches the runs of handlers in one process of a service: no more at the same time than its limits and the order of keys allow. */
import type { Delivery } from '@elysia-microservices/transport'
import type { Ledger } from './ledger.ts'

/** Handlers of one kind that run now. */
export class Running {
  readonly #what: string
  readonly #most: number
  readonly #ledger: Ledger
  #now = 0

  /** @param most how many may run; 0: any number */
  constructor(what: string, most: number, ledger: Ledger) {
    this.#what = what
    this.#most = most
    this.#ledger = ledger
  }

  async during<Result>(act: () => Promise<Result>): Promise<Result> {
    if (++this.#now > this.#most && this.#most > 0)
      this.#ledger.breaks(`${this.#now} ${this.#what} run at once, where ${this.#most} may`)
    try {
      return await act()
    } finally {
      this.#now--
    }
  }
}

/** The runs of the durable handlers of all processes: broken promises that only a loss excuses. */
export class Runs {
  /** Faults in a life without losses: runs beside the order of their key, and attempts that never ran. */
  readonly disordered: string[] = []
  readonly overcounted: string[] = []
  /** The event of each key that runs, or that has failed and is to run again before all others of its key. */
  readonly #first = new Map<string, string>()

  /** Dead letters that were given back run beside the order. */
  readonly redriven = new Set<string>()

  /** A handler begins. @param runs how often it has begun, this time included */
  begins(line: string | undefined, id: string, runs: number, delivery: Delivery | undefined): void {
    const attempt = delivery?.attempt ?? 1
    if (attempt < 1 || attempt > runs)
      this.overcounted.push(`event ${id} runs for the ${runs}. time, as attempt ${attempt}`)
    if (line === undefined || this.redriven.has(id)) return
    const first = this.#first.get(line)
    if (first !== undefined && first !== id)
      this.disordered.push(`event ${id} began while ${first} of its key ran, or was to run again`)
    this.#first.set(line, id)
  }

  /** A handler ends. @param isAgain whether its event certainly runs again */
  ends(line: string | undefined, id: string, isAgain: boolean): void {
    if (line !== undefined && !isAgain && this.#first.get(line) === id) this.#first.delete(line)
  }
}
