/**
 * Whether an endpoint can be trusted: it is ejected when it fails too often, and comes back after single calls without
 * failure. Picks and failures are counted, not successes, so that a good answer costs nothing here. Pure: clock and
 * randomness come from outside.
 */
import { type BackoffOptions, backoffCeiling } from '@elysia-microservices/transport/kit'

/** When an endpoint is ejected, and for how long. */
export interface HealthOptions extends BackoffOptions {
  /** Number of failures in the window at which an endpoint may be ejected. */
  readonly failures: number
  /** Share of the calls in the window, and of those in flight as it began, that must have failed too, from 0 to 1. */
  readonly ratio: number
  /** Length of the window in which calls and failures are counted, in milliseconds, from a failure on. */
  readonly window: number
}

/** Calls that must end without a failure, one by one, before an endpoint is trusted again. */
const PROBES = 3

/** The state of an endpoint. `probing`: it takes single calls. */
export type HealthState = 'healthy' | 'ejected' | 'probing'

/** The health of one endpoint. */
export class EndpointHealth {
  readonly #options: HealthOptions
  #state: HealthState = 'healthy'
  #windowEnd = Number.NEGATIVE_INFINITY
  #calls = 0
  #failures = 0
  /** Ejections in a row. */
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
   * Whether the endpoint may be picked.
   * @param isIdle no call to it is in flight: a probe that has not ended has not succeeded
   */
  admits(now: number, isIdle: boolean): boolean {
    return this.#state === 'healthy' || this.wantsProbe(now, isIdle)
  }

  /** Whether the next call would be a probe. */
  wantsProbe(now: number, isIdle: boolean): boolean {
    return this.#state !== 'healthy' && now >= this.#until && (isIdle || this.#state === 'ejected')
  }

  /** The endpoint was picked. Returns true if it is trusted again from now on. */
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
   * A call to the endpoint has failed. Returns the milliseconds for which the endpoint is now ejected; `undefined` if
   * it is not.
   * @param random from 0 (inclusive) to 1 (exclusive)
   * @param inFlight calls to the endpoint without an answer yet
   */
  failed(now: number, random: number, inFlight: number): number | undefined {
    // Calls sent before the ejection say nothing new.
    if (this.#state === 'ejected') return undefined
    // A window begins with a failure: earlier successes say nothing about its state now.
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
