/**
 * When requests are due: the nth one n/rate after the start, whatever happens to the others. A request that is sent
 * late was due all the same, and is measured from then: that is what keeps omission from being coordinated.
 */
export class ConstantRate {
  readonly #startedAt: number
  readonly #interval: number
  #taken = 0

  /** @param rate requests per second; times are in milliseconds */
  constructor(rate: number, startedAt: number) {
    this.#interval = 1000 / rate
    this.#startedAt = startedAt
  }

  /** When the next one is due. */
  get nextAt(): number {
    return this.#startedAt + this.#taken * this.#interval
  }

  /** How many are due before `time` and not taken yet. */
  dueBefore(time: number): number {
    const due = Math.ceil((time - this.#startedAt) / this.#interval - EPSILON)
    return Math.max(0, due - this.#taken)
  }

  /** Takes the next one: returns when it was due. */
  take(): number {
    const at = this.nextAt
    this.#taken++
    return at
  }
}

/** A due time that is the time itself, but for rounding, is not before it. */
const EPSILON = 1e-6
