/** Looks for the highest rate that is kept, by trials whose outcomes it is told. Knows no server and no clock. */

/** A rate that fails once may have been unlucky. */
const ATTEMPTS = 2
/** How near the lowest rate that failed must be to the highest that was kept, to be near enough. */
const PRECISION = 1.05
const LOWEST = 1
const HIGHEST = 10_000_000

export class CapacitySearch {
  /** The rate to try next; `undefined`: the highest one is found, or there is none to find. */
  next: number | undefined
  /** The highest rate that was kept; `undefined`: none so far. */
  best: number | undefined
  #failed: number | undefined
  #attempts = 0

  constructor(first: number) {
    this.next = first
  }

  /** Tells the outcome of the trial of `next`. */
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

  /** Doubles or halves until one rate was kept and another was not, then closes in between them. */
  #choose(): number | undefined {
    const { best } = this
    const failed = this.#failed
    if (failed === undefined) return best! < HIGHEST ? Math.min(HIGHEST, best! * 2) : undefined
    if (best === undefined) return failed > LOWEST ? Math.max(LOWEST, Math.floor(failed / 2)) : undefined
    const between = Math.round(Math.sqrt(best * failed))
    return failed / best <= PRECISION || between <= best || between >= failed ? undefined : between
  }
}
