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

/** Most attempts that a deploy allows, and runs beyond those, whatever becomes of them. */
const MOST_RUNS = 5 + 20

/** The runs of the durable handlers of all processes: broken promises that only a loss excuses. */
export class Runs {
  /** Faults in a life without losses: runs beside the order of their key, attempts that never ran, and runs that were none. */
  readonly disordered: string[] = []
  readonly overcounted: string[] = []
  readonly undercounted: string[] = []
  /** An event that came again and again, and never became a dead letter. */
  endless: string | undefined
  /** By group and event: how often it had run when it was given back, from where its attempts count from 1 again. */
  readonly #givenBack = new Map<string, number[]>()
  /** The event of each key that runs, or that has failed and is to run again before all others of its key. */
  readonly #first = new Map<string, string>()

  /** Dead letters that were given back run beside the order. */
  readonly redriven = new Set<string>()

  /** A dead letter is being given back, or was already: another one may have done it. @param runs its runs until now */
  givesBack(group: string, id: string, runs: number): void {
    this.redriven.add(id)
    const name = `${group} ${id}`
    this.#givenBack.set(name, [...(this.#givenBack.get(name) ?? []), runs])
  }

  /** A handler begins. @param runs how often it has begun in this group, this time included */
  begins(
    group: string,
    line: string | undefined,
    id: string,
    runs: number,
    delivery: Delivery | undefined
  ): void {
    this.#count(`${group} ${id}`, runs, delivery?.attempt ?? 1)
    if (line === undefined || this.redriven.has(id)) return
    const first = this.#first.get(line)
    if (first !== undefined && first !== id)
      this.disordered.push(`event ${id} began while ${first} of its key ran, or was to run again`)
    this.#first.set(line, id)
  }

  #count(name: string, runs: number, attempt: number): void {
    const counts = [0, ...(this.#givenBack.get(name) ?? [])].map((before) => runs - before)
    const last = counts.at(-1) as number
    if (last > MOST_RUNS) this.endless ??= `event ${name} runs for the ${last}. time, as attempt ${attempt}`
    if (counts.includes(attempt)) return
    const list = attempt > last ? this.overcounted : this.undercounted
    list.push(`event ${name} runs for the ${last}. time, as attempt ${attempt}`)
  }

  /** A handler ends. @param isAgain whether its event certainly runs again */
  ends(line: string | undefined, id: string, isAgain: boolean): void {
    if (line !== undefined && !isAgain && this.#first.get(line) === id) this.#first.delete(line)
  }
}
