/**
 * Limits retries to a share of the calls, so that retries never multiply the load of servers in trouble. The limit is a
 * token bucket, filled by calls and by time. Pure: the caller passes the time.
 */

/** Rates that fill the token bucket. */
export interface RetryBudgetOptions {
  /** Retries allowed per call: 0.2 lets one call in five be retried. */
  readonly ratio: number
  /** Further retries allowed per second, for clients with few calls. */
  readonly perSecond: number
}

/** Most seconds, and most calls, for which the bucket keeps unused tokens. */
const KEPT_SECONDS = 10
const KEPT_CALLS = 1_000

/** Decides whether a retry is allowed. */
export class RetryBudget {
  readonly #options: RetryBudgetOptions
  readonly #capacity: number
  #tokens: number
  #time: number
  #calls: number

  /**
   * @param now milliseconds of a clock that never goes back
   * @param calls calls made so far
   */
  constructor(options: RetryBudgetOptions, now: number, calls = 0) {
    this.#options = options
    this.#capacity = options.perSecond * KEPT_SECONDS + options.ratio * KEPT_CALLS
    this.#tokens = options.perSecond * KEPT_SECONDS
    this.#time = now
    this.#calls = calls
  }

  /** Most tokens that the bucket holds. */
  get capacity(): number {
    return this.#capacity
  }

  /**
   * Takes a token; returns false if there is none.
   * @param calls number of calls made so far; the caller counts them, so that a call costs nothing here
   */
  take(now: number, calls: number): boolean {
    const { ratio, perSecond } = this.#options
    const earned = ratio * Math.max(0, calls - this.#calls) + (perSecond * (now - this.#time)) / 1_000
    this.#tokens = Math.min(this.#capacity, this.#tokens + earned)
    this.#time = now
    this.#calls = calls
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }
}
