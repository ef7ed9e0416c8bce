/**
 * The times at which requests are due: request n is due n/rate after the start, whatever happens to the others. The
 * latency of a request that is sent late also counts from the time at which it was due, which avoids coordinated
 * omission.
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

  /** When the next request is due. */
  get nextAt(): number {
    return this.#startedAt + this.#taken * this.#interval
  }

  /** How many requests are due before `time` and not taken yet. */
  dueBefore(time: number): number {
    const due = Math.ceil((time - this.#startedAt) / this.#interval - EPSILON)
    return Math.max(0, due - this.#taken)
  }

  /** Takes the next request. @returns when it was due */
  take(): number {
    const at = this.nextAt
    this.#taken++
    return at
  }
}

/** Tolerance for rounding: a request that is due at the given time itself does not count as due before it. */
const EPSILON = 1e-6
