/**
 * How many requests may be in flight, found out from how long they take: the limit grows while latency is
 * about that of an idle service, and shrinks when it is more than twice that, because then requests wait for
 * each other and more of them get no more done. Pure: no clock, no timer; it is told what begins and ends, and
 * when.
 *
 * Latency is the mean number in flight by the number that ended in a time (Little's law), and not the mean of
 * those that ended: in a short time mostly short requests end, so where short and long ones come mixed the
 * latter would tell of a service that is faster than it is.
 */

/** Bounds between which `limits.inFlight` finds itself. */
export interface AdaptiveConcurrencyOptions {
  /** Requests in flight allowed at the start. Default: 50. */
  readonly initial?: number | undefined
  /** The least the limit can become. Default: 1. */
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

/** What `inFlight: 'adaptive'` stands for. */
export const ADAPTIVE_DEFAULTS: ConcurrencyBounds = {
  initial: 50,
  min: 1,
  max: 1_000
}

/** A window of observation ends with this many requests, but not before so many milliseconds… */
const WINDOW_SAMPLES = 100
const WINDOW = 100
/** …or after this long with fewer, if there were some. */
const LONG_WINDOW = 1_000
const LEAST_SAMPLES = 10
/** Latency, in multiples of the baseline, up to which the limit grows. */
const TOLERANCE = 2
/**
 * What the limit is divided by while the baseline is measured. More than `TOLERANCE`: a service that is given
 * too much takes as long as the wrong baseline says when its limit is divided by just that.
 */
const PROBE_DIVISOR = 4
/** Windows between two measurements: few at the start, more and more as they find nothing new. */
const FIRST_PAUSE = 3
const LONGEST_PAUSE = 80
const FIRST_MEASUREMENTS = 4
/** Milliseconds that shorter latencies count as: below, the jitter of the event loop is the larger part. */
const SHORTEST_LATENCY = 1

/** A limit that adapts itself. */
export class AdaptiveConcurrency {
  readonly #min: number
  readonly #max: number
  #limit: number
  /** Latency with little load, in milliseconds; `undefined` before anything was seen. */
  #baseline: number | undefined
  #inFlight = 0
  /** When `#inFlight` last changed. */
  #changedAt = 0
  /** When this window began; `undefined` before the first. */
  #windowStart: number | undefined
  /** Milliseconds in this window, each times what was in flight. */
  #area = 0
  #samples = 0
  /** The most requests that were in flight in this window. */
  #peak = 0
  #measurements = 0
  #pause = FIRST_PAUSE
  #untilProbe = FIRST_PAUSE
  /**
   * Load is lowered to measure the baseline. At first it is `'falling'`; then as many requests as are in flight
   * have to end, because those that are left are the long ones; then it is measured.
   */
  #probe: 'falling' | 'measuring' | { left: number } | undefined

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

  /** Requests that have begun and not ended. */
  get inFlight(): number {
    return this.#inFlight
  }

  /** A request begins. @param now milliseconds, of a clock that never goes back */
  began(now: number): void {
    this.#pass(now)
    this.#inFlight++
    this.#peak = Math.max(this.#peak, this.#inFlight)
  }

  /** A request has ended. @param now milliseconds, of a clock that never goes back */
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
    // So little load is a measurement by itself.
    if (peak <= this.#limit / PROBE_DIVISOR) return this.#measured(latency)
    this.#adapt(this.#baseline, latency, peak)
    this.#untilProbe--
    if (this.#untilProbe <= 0) this.#probe = 'falling'
  }

  #adapt(baseline: number, latency: number, peak: number): void {
    const gradient = Math.max(0.5, (TOLERANCE * baseline) / latency)
    if (gradient < 1) this.#limit = Math.max(this.#min, this.#limit * gradient)
    // A limit that nobody has come near to is not known to be right, and less so a larger one.
    else if (peak >= 0.9 * Math.floor(this.#limit))
      this.#limit = Math.min(this.#max, this.#limit + Math.sqrt(this.#limit))
  }

  #measured(latency: number): void {
    const baseline = this.#baseline ?? latency
    // One measurement may be chance, so each moves the baseline half the way. Only at the start, when it was
    // taken under whatever load there was, a much lower one is believed at once.
    const atOnce = this.#measurements++ < FIRST_MEASUREMENTS && latency < baseline / 2
    this.#baseline = atOnce ? latency : (baseline + latency) / 2
    this.#pause = latency < 0.7 * baseline ? FIRST_PAUSE : Math.min(this.#pause * 2, LONGEST_PAUSE)
    this.#untilProbe = this.#pause
  }
}
