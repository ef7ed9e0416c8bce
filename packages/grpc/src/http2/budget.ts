/**
 * How much of something a peer may do: each time costs a point, and points come back with time and with useful work. The
 * clock is given with each question.
 */

const SECOND = 1_000

/** The points of one peer for one kind of deeds. */
export class Budget {
  readonly #most: number
  readonly #perSecond: number
  #left: number
  /** The time up to which points have come back. */
  #at: number

  /**
   * @param most points at the beginning, and most that are ever left
   * @param perSecond points that come back in a second
   * @param now milliseconds of a clock that never goes back
   */
  constructor(most: number, perSecond: number, now: number) {
    this.#most = most
    this.#perSecond = perSecond
    this.#left = most
    this.#at = now
  }

  /** Takes points. Returns false if too few are left. */
  spend(points: number, now: number): boolean {
    this.#left -= points
    if (this.#left >= 0) return true
    this.earn(((now - this.#at) / SECOND) * this.#perSecond)
    this.#at = now
    return this.#left >= 0
  }

  /** Gives points back. */
  earn(points: number): void {
    this.#left = Math.min(this.#most, this.#left + points)
  }
}
