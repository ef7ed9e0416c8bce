/**
 * How many requests may be in flight, found out from how long they take: the limit grows while latency is
 * about that of an idle service, and shrinks when it is more than twice that, because then requests wait for
 * each other and more of them get no more done. Pure: no clock, no timer; it is told what has ended, and when.
 */

/** Options of `concurrency`. */
export interface AdaptiveConcurrencyOptions {
  /** Requests in flight allowed at the start. Default: 50. */
  readonly initial?: number | undefined
  /** The least the limit can become. Default: 4. */
  readonly min?: number | undefined
  /** The most the limit can become. Default: 1,000. */
  readonly max?: number | undefined
}

/** The same with everything filled in. */
export interface ConcurrencyBounds {
  readonly initial: number
  readonly min: number
  readonly max: number
}

/** What `concurrency: 'adaptive'` stands for. */
export const ADAPTIVE_DEFAULTS: ConcurrencyBounds = {
  initial: 50,
  min: 4,
  max: 1_000
}

/** Milliseconds a window of observation has at least. */
const WINDOW = 100
/** Requests that must have ended in a window: a mean of fewer says little. */
const MIN_SAMPLES = 10
/** Latency, in multiples of the baseline, up to which the limit grows. */
const TOLERANCE = 2
/**
 * What the limit is divided by while the baseline is measured. More than `TOLERANCE`: a service that is given
 * too much takes as long as the wrong baseline says when its limit is divided by just that.
 */
const PROBE_DIVISOR = 4
/** Windows between two measurements: few at the start, more and more as they find nothing new. */
const FIRST_PAUSE = 5
const LONGEST_PAUSE = 80
/** Milliseconds that shorter latencies count as: below, the jitter of the event loop is the larger part. */
const SHORTEST_LATENCY = 1

/** A limit that adapts itself. */
export class AdaptiveConcurrency {
  readonly #min: number
  readonly #max: number
  #limit: number
  /** Mean latency with little load, in milliseconds; `undefined` before anything was seen. */
  #baseline: number | undefined
  #windowStart: number | undefined
  #sum = 0
  #samples = 0
  /** The most requests that were in flight in this window. */
  #peak = 0
  #pause = FIRST_PAUSE
  #untilProbe = FIRST_PAUSE
  /** While measuring: when load had fallen to the smaller limit. What began before does not count. */
  #probe: { settledAt: number | undefined } | undefined

  constructor(options: ConcurrencyBounds) {
    this.#min = options.min
    this.#max = options.max
    this.#limit = options.initial
  }

  /** Requests that may be in flight now: a whole number, from `min` to `max`. */
  get limit(): number {
    const limit = this.#probe === undefined ? this.#limit : this.#limit / PROBE_DIVISOR
    return Math.max(this.#min, Math.floor(limit))
  }

  /** Latency of a service with little load as it was last measured, in milliseconds; `undefined` before. */
  get baseline(): number | undefined {
    return this.#baseline
  }

  /**
   * A request has ended.
   * @param latency milliseconds it took
   * @param inFlight requests that were in flight until now, this one included
   * @param now milliseconds, of a clock that never goes back
   */
  ended(latency: number, inFlight: number, now: number): void {
    this.#windowStart ??= now
    if (this.#probe !== undefined && !this.#isOfProbe(this.#probe, latency, inFlight, now)) return
    this.#sum += Math.max(latency, SHORTEST_LATENCY)
    this.#samples++
    this.#peak = Math.max(this.#peak, inFlight)
    if (now - this.#windowStart >= WINDOW && this.#samples >= MIN_SAMPLES) this.#endWindow(now)
  }

  #isOfProbe(
    probe: { settledAt: number | undefined },
    latency: number,
    inFlight: number,
    now: number
  ): boolean {
    if (probe.settledAt === undefined) {
      // `inFlight` counts the one that has just ended.
      if (inFlight <= this.limit + 1) {
        probe.settledAt = now
        this.#windowStart = now
      }
      return false
    }
    return now - latency >= probe.settledAt
  }

  #endWindow(now: number): void {
    const mean = this.#sum / this.#samples
    const peak = this.#peak
    this.#windowStart = now
    this.#sum = 0
    this.#samples = 0
    this.#peak = 0
    if (this.#probe !== undefined) {
      this.#probe = undefined
      return this.#measured(mean)
    }
    if (this.#baseline === undefined) this.#baseline = mean
    // So little load is a measurement by itself.
    if (peak <= this.#limit / PROBE_DIVISOR) return this.#measured(mean)
    this.#adapt(this.#baseline, mean, peak)
    this.#untilProbe--
    if (this.#untilProbe <= 0) this.#probe = { settledAt: undefined }
  }

  #adapt(baseline: number, mean: number, peak: number): void {
    const gradient = Math.max(0.5, (TOLERANCE * baseline) / mean)
    if (gradient < 1) this.#limit = Math.max(this.#min, this.#limit * gradient)
    // A limit that nobody has come near to is not known to be right, and less so a larger one.
    else if (peak >= 0.9 * Math.floor(this.#limit))
      this.#limit = Math.min(this.#max, this.#limit + Math.max(1, Math.sqrt(this.#limit) / 2))
  }

  #measured(mean: number): void {
    const baseline = this.#baseline ?? mean
    const lower = mean < 0.8 * baseline
    // Lower is the truth: load only adds. Higher may be chance, and is believed by and by.
    this.#baseline = lower ? mean : baseline + (mean - baseline) / 2
    this.#pause = lower ? FIRST_PAUSE : Math.min(this.#pause * 2, LONGEST_PAUSE)
    this.#untilProbe = this.#pause
  }
}
