/** Rates of counters that are told now and then. */

/** Milliseconds over which a rate is counted, so that it does not jump. */
const OVER = 5_000
/** Largest number of counters; beyond it all counts begin again. */
const MAX_COUNTERS = 1_000

export class Rates {
  readonly #counters = new Map<string, { at: number; count: number; rate: number }>()

  /** How often a counter has counted a second, lately; 0 at first. @param at milliseconds since 1970 */
  of(counter: string, at: number, count: number): number {
    const known = this.#counters.get(counter)
    if (known === undefined) {
      if (this.#counters.size >= MAX_COUNTERS) this.#counters.clear()
      this.#counters.set(counter, { at, count, rate: 0 })
      return 0
    }
    const passed = at - known.at
    if (passed >= OVER || passed < 0) {
      // A counter that has become smaller is that of another process.
      const rate = passed > 0 ? Math.max(0, count - known.count) / (passed / 1_000) : 0
      Object.assign(known, { at, count, rate })
    }
    return known.rate
  }
}
