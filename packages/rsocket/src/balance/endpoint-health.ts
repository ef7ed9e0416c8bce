/**
 * Decides whether an endpoint can be trusted: an endpoint that fails too often is ejected, and is trusted again after
 * single calls without failure. Calls and failures are counted, but not successes, so that a successful answer costs
 * nothing here. Pure: the caller passes the time and the random numbers.
 */
import { type BackoffOptions, backoffCeiling } from '@elysia-microservices/transport/kit'

/** Options of ejection: when an endpoint is ejected, and for how long. */
export interface HealthOptions extends BackoffOptions {
  /** Number of failures in the window at which an endpoint may be ejected. */
  readonly failures: number
  /**
   * Share of calls that must also have failed, from 0 to 1, among the calls in the window and those in flight at its
   * start.
   */
  readonly ratio: number
  /** Length of the window in which calls and failures are counted, in milliseconds. A window begins with a failure. */
  readonly window: number
}

/** Number of single calls that must end without a failure, one by one, before an endpoint is trusted again. */
const PROBES = 3

/** The state of an endpoint. `probing`: the endpoint gets single calls. */
export type HealthState = 'healthy' | 'ejected' | 'probing'

/** The health of one endpoint. */
export class EndpointHealth {
  readonly #options: HealthOptions
  #state: HealthState = 'healthy'
  #windowEnd = Number.NEGATIVE_INFINITY
  #calls = 0
  #failures = 0
  /** Number of ejections in a row. */
  #ejections = 0
  /** Time of the next possible change: the end of an ejection, the next probe, or the end of distrust. */
  #until = 0
  #probes = 0

  constructor(options: HealthOptions) {
    this.#options = options
  }

  get state(): HealthState {
    return this.#state
  }

  /**
   * Whether the endpoint may get a call.
   * @param isIdle the last probe has ended
   */
  admits(now: number, isIdle: boolean): boolean {
    return this.#state === 'healthy' || this.wantsProbe(now, isIdle)
  }

  /** Whether the next call to the endpoint is a probe. */
  wantsProbe(now: number, isIdle: boolean): boolean {
    return this.#state !== 'healthy' && now >= this.#until && (isIdle || this.#state === 'ejected')
  }

  /** The endpoint gets a call. Returns true if the endpoint is trusted again from now on. */
  picked(now: number): boolean {
    this.#calls++
    if (this.#state === 'healthy' || now < this.#until) return false
    const { minDelay, maxDelay } = this.#options
    if (this.#state === 'ejected') {
      this.#state = 'probing'
      this.#probes = 0
    }
    if (this.#probes++ < PROBES) {
      this.#until = now + minDelay / PROBES
      return false
    }
    this.#state = 'healthy'
    this.#until = now + maxDelay
    this.#windowEnd = now
    return true
  }

  /**
   * A call to the endpoint has failed. Returns the milliseconds for which the endpoint is ejected; `undefined` if it is
   * not ejected.
   * @param random from 0 (inclusive) to 1 (exclusive)
   * @param inFlight calls to the endpoint without an answer yet
   */
  failed(now: number, random: number, inFlight: number): number | undefined {
    // The call was sent before the ejection, so its failure is no news.
    if (this.#state === 'ejected') return undefined
    // A window begins with a failure, because earlier successes say nothing about the endpoint's present state.
    if (now >= this.#windowEnd) {
      this.#windowEnd = now + this.#options.window
      this.#calls = inFlight
      this.#failures = 0
    }
    this.#failures++
    const { failures, ratio } = this.#options
    const tooMany = this.#failures >= failures && this.#failures >= this.#calls * ratio
    if (this.#state !== 'probing' && !tooMany) return undefined
    if (this.#state === 'healthy' && now >= this.#until) this.#ejections = 0
    const ceiling = backoffCeiling(this.#options, this.#ejections++)
    // At least half of the ceiling, because a very short ejection would have no effect.
    const duration = ceiling / 2 + (ceiling / 2) * random
    this.#state = 'ejected'
    this.#until = now + duration
    return duration
  }
}
