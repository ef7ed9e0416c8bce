/** Searches for the highest rate that a server keeps. The caller runs the trials and reports their outcomes. */

/** How often a rate is tried: one failure may be an accident. */
const ATTEMPTS = 2
/** The search ends when the lowest failed rate is less than this factor above the highest kept one. */
const PRECISION = 1.05
const LOWEST = 1
const HIGHEST = 10_000_000

export class CapacitySearch {
  /** The rate to try next; `undefined`: the search has ended. */
  next: number | undefined
  /** The highest rate that was kept; `undefined`: none so far. */
  best: number | undefined
  #failed: number | undefined
  #attempts = 0

  constructor(first: number) {
    this.next = first
  }

  /** Reports the outcome of the trial with rate `next`. */
  tell(kept: boolean): void {
    const rate = this.next
    if (rate === undefined) return
    this.#attempts++
    if (!kept && this.#attempts < ATTEMPTS) return
    this.#attempts = 0
    if (kept) this.best = rate
    else this.#failed = rate
    this.next = this.#choose()
  }

  /** Doubles or halves the rate until one was kept and another was not, then narrows the interval. */
  #choose(): number | undefined {
    const { best } = this
    const failed = this.#failed
    if (failed === undefined) return best! < HIGHEST ? Math.min(HIGHEST, best! * 2) : undefined
    if (best === undefined) return failed > LOWEST ? Math.max(LOWEST, Math.floor(failed / 2)) : undefined
    const between = Math.round(Math.sqrt(best * failed))
    return failed / best <= PRECISION || between <= best || between >= failed ? undefined : between
  }
}
