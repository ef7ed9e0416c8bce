/**
 * Finds the limit of requests in flight from their latency. The limit grows while latency is close to its value under
 * little load (the baseline). It shrinks when latency is more than twice the baseline: then requests wait for each
 * other, and more requests at once do not increase throughput. Pure: the caller tells which requests begin and end, and
 * when.
 *
 * Latency is computed by Little's law: the mean number of requests in flight divided by the rate of requests that
 * ended. The mean latency of ended requests would be too low, because in a short time mostly short requests end.
 */

/** Bounds for the adaptive `limits.inFlight`. */
export interface AdaptiveConcurrencyOptions {
  /** The limit at the start. Default: 50. */
  readonly initial?: number | undefined
  /** The smallest limit. Default: 1. */
  readonly min?: number | undefined
  /** The largest limit. Default: 1,000. */
  readonly max?: number | undefined
}

/** The bounds with their defaults filled in. */
export interface ConcurrencyBounds {
  readonly initial: number
  readonly min: number
  readonly max: number
}

/** The bounds of `inFlight: 'adaptive'`. */
export const ADAPTIVE_DEFAULTS: ConcurrencyBounds = {
  initial: 50,
  min: 1,
  max: 1_000
}

/** A measuring window ends after this many requests, but not before `WINDOW` milliseconds have passed… */
const WINDOW_SAMPLES = 100
const WINDOW = 100
/** …or after `LONG_WINDOW` milliseconds with at least `LEAST_SAMPLES` requests. */
const LONG_WINDOW = 1_000
const LEAST_SAMPLES = 10
/** The limit grows while latency is below this multiple of the baseline. */
const TOLERANCE = 2
/**
 * The limit is divided by this number while the baseline is measured. The number must be larger than `TOLERANCE`: if
 * the limit of an overloaded service were only divided by `TOLERANCE`, the measurement would confirm a baseline that is
 * too high.
 */
const PROBE_DIVISOR = 4
/**
 * Number of windows between two measurements of the baseline: few at first, more when measurements find no lower value.
 */
const FIRST_PAUSE = 3
const LONGEST_PAUSE = 80
const FIRST_MEASUREMENTS = 4
/** Shortest latency that counts, in milliseconds; a shorter one consists mostly of the event loop's jitter. */
const SHORTEST_LATENCY = 1

/** A limit that adapts to latency. */
export class AdaptiveConcurrency {
  readonly #min: number
  readonly #max: number
  #limit: number
  /** Latency under little load, in milliseconds; `undefined` before the first window. */
  #baseline: number | undefined
  #inFlight = 0
  /** Time at which `#inFlight` last changed. */
  #changedAt = 0
  /** Start of the current window; `undefined` before the first window. */
  #windowStart: number | undefined
  /** Requests in flight, summed over the milliseconds of the current window. */
  #area = 0
  #samples = 0
  /** Most requests in flight at the same time in the current window. */
  #peak = 0
  #measurements = 0
  #pause = FIRST_PAUSE
  #untilProbe = FIRST_PAUSE
  /**
   * The load is reduced to measure the baseline. `'falling'`: the limit is reduced, and the requests in flight become
   * fewer. `left`: the number of requests that must end before the measurement, because mostly long requests are left in flight at
   * that moment. `'measuring'`: the baseline is measured.
   */
  #probe: 'falling' | 'measuring' | { left: number } | undefined

  constructor(options: ConcurrencyBounds) {
    this.#min = options.min
    this.#max = options.max
    this.#limit = options.initial
  }

  /** The current limit: a whole number, from `min` to `max`. */
  get limit(): number {
    const limit = this.#probe === undefined ? this.#limit : this.#limit / PROBE_DIVISOR
    return Math.max(this.#min, Math.floor(limit))
  }

  /** Last measured latency under little load, in milliseconds; `undefined` before the first window. */
  get baseline(): number | undefined {
    return this.#baseline
  }

  /** Number of requests in flight. */
  get inFlight(): number {
    return this.#inFlight
  }

  /**
   * Counts a request that has begun.
   * @param now milliseconds of a clock that never goes back
   */
  began(now: number): void {
    this.#pass(now)
    this.#inFlight++
    this.#peak = Math.max(this.#peak, this.#inFlight)
  }

  /**
   * Counts a request that has ended.
   * @param now milliseconds of a clock that never goes back
   */
  ended(now: number): void {
    this.#pass(now)
    this.#inFlight--
    this.#samples++
    if (this.#probe !== undefined && this.#probe !== 'measuring') return this.#settle(this.#probe, now)
    const length = now - (this.#windowStart ?? now)
    const isLong = length >= LONG_WINDOW && this.#samples >= LEAST_SAMPLES
    if (isLong || (length >= WINDOW && this.#samples >= WINDOW_SAMPLES)) this.#endWindow(now)
  }

  #pass(now: number): void {
    this.#windowStart ??= now
    this.#area += this.#inFlight * (now - this.#changedAt)
    this.#changedAt = now
  }

  #startWindow(now: number): void {
    this.#windowStart = now
    this.#area = 0
    this.#samples = 0
    this.#peak = this.#inFlight
  }

  #settle(probe: 'falling' | { left: number }, now: number): void {
    if (probe === 'falling') {
      if (this.#inFlight <= this.limit) this.#probe = { left: this.#inFlight }
    } else if (--probe.left <= 0) {
      this.#probe = 'measuring'
      this.#startWindow(now)
    }
  }

  #endWindow(now: number): void {
    const latency = Math.max(SHORTEST_LATENCY, this.#area / this.#samples)
    const peak = this.#peak
    this.#startWindow(now)
    if (this.#probe !== undefined) {
      this.#probe = undefined
      return this.#measured(latency)
    }
    if (this.#baseline === undefined) this.#baseline = latency
    // Under so little load, every window measures the baseline.
    if (peak <= this.#limit / PROBE_DIVISOR) return this.#measured(latency)
    this.#adapt(this.#baseline, latency, peak)
    this.#untilProbe--
    if (this.#untilProbe <= 0) this.#probe = 'falling'
  }

  #adapt(baseline: number, latency: number, peak: number): void {
    const gradient = Math.max(0.5, (TOLERANCE * baseline) / latency)
    if (gradient < 1) this.#limit = Math.max(this.#min, this.#limit * gradient)
    // The limit grows only if it was nearly reached. Otherwise it is not even known whether the present limit is right.
    else if (peak >= 0.9 * Math.floor(this.#limit))
      this.#limit = Math.min(this.#max, this.#limit + Math.sqrt(this.#limit))
  }

  #measured(latency: number): void {
    const baseline = this.#baseline ?? latency
    // One measurement may be chance, so each measurement moves the baseline only half of the way. At the start a much
    // lower value is accepted at once, because the first baseline was measured under an unknown load.
    const atOnce = this.#measurements++ < FIRST_MEASUREMENTS && latency < baseline / 2
    this.#baseline = atOnce ? latency : (baseline + latency) / 2
    this.#pause = latency < 0.7 * baseline ? FIRST_PAUSE : Math.min(this.#pause * 2, LONGEST_PAUSE)
    this.#untilProbe = this.#pause
  }
}
