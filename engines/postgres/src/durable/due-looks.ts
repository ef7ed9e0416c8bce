/**
 * Where a process looks for events that are due. While a transaction of anybody stays open, PostgreSQL keeps the rows of
 * all that was due and is done, and a look at everything reads each of them. So a turn looks behind bounds below which
 * nothing was left, and now and then everywhere.
 */
import type { Bounds, Looks, Turn } from '../connection/turn.ts'

/** Milliseconds from one look everywhere to the next, and how many times as long as such a turn takes at least. */
const EVERY = 1_000
const SPARED = 20

/** The looks of one process. */
export class DueLooks {
  #bounds: Bounds = {}
  #until = Number.NEGATIVE_INFINITY
  /** The highest number of a batch of which the process has heard: what it has not heard of is nearly always higher. */
  #heard = 0

  /** Where the next turn looks. @param groups the groups of the process @param now by the clock of the turns */
  next(groups: Iterable<number>, now: number): Looks {
    return now < this.#until ? { ...this.#bounds, batch: this.#heard } : [...groups]
  }

  /** A turn was answered. @param took milliseconds */
  told({ bounds, taken }: Pick<Turn, 'bounds' | 'taken'>, begun: number, took: number): void {
    for (const { batch } of taken) this.#heard = Math.max(this.#heard, Number(batch))
    if (bounds === null) return
    this.#bounds = bounds
    this.#until = begun + Math.max(EVERY, took * SPARED)
  }

  /** The server may be another one, with another clock. */
  forget(): void {
    this.#until = Number.NEGATIVE_INFINITY
    this.#heard = 0
  }
}
