/**
 * Whether an endpoint is to be trusted: it is ejected when it fails too often, and let back by single calls.
 * Only failures are reported, successes are what was picked and did not fail, so a good call costs nothing
 * here. Pure: clock and randomness are given.
 */
import { type BackoffOptions, backoffCeiling } from '@elysia-microservices/transport/kit'

/** When an endpoint is ejected, and for how long. */
export interface HealthOptions extends BackoffOptions {
  /** Failures within the window from which an endpoint may be ejected. */
  readonly failures: number
  /** Share of the window's calls that must have failed as well, from 0 to 1. */
  readonly ratio: number
  /** Milliseconds for which calls and failures are counted. */
  readonly window: number
}

/** Calls that an endpoint must take without a failure before it is trusted again. */
const PROBES = 3

/** `probing`: takes a call now and then. */
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
  /** When the state may change: the end of an ejection, the next probe, the end of distrust. */
  #until = 0
  #probes = 0

  constructor(options: HealthOptions) {
    this.#options = options
  }

  get state(): HealthState {
    return this.#state
  }

  /** Whether the endpoint may be picked. */
  admits(now: number): boolean {
    return this.#state === 'healthy' || now >= this.#until
  }

  /** Whether a call would be one that finds out how the endpoint is. */
  wantsProbe(now: number): boolean {
    return this.#state !== 'healthy' && now >= this.#until
  }

  /** The endpoint was picked. True if it is trusted again by that. */
  picked(now: number): boolean {
    if (now >= this.#windowEnd) this.#openWindow(now)
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
    this.#openWindow(now)
    return true
  }

  /**
   * A call of the endpoint has failed. Returns the milliseconds for which the endpoint is ejected; `undefined`
   * if it stays.
   * @param random from 0 (inclusive) to 1 (exclusive)
   */
  failed(now: number, random: number): number | undefined {
    // Calls that were sent before the ejection say nothing new.
    if (this.#state === 'ejected') return undefined
    if (now >= this.#windowEnd) this.#openWindow(now)
    this.#failures++
    const { failures, ratio } = this.#options
    const tooMany = this.#failures >= failures && this.#failures >= this.#calls * ratio
    if (this.#state !== 'probing' && !tooMany) return undefined
    if (this.#state === 'healthy' && now >= this.#until) this.#ejections = 0
    const ceiling = backoffCeiling(this.#options, this.#ejections++)
    // Half of it at least: an ejection that is over at once is none.
    const duration = ceiling / 2 + (ceiling / 2) * random
    this.#state = 'ejected'
    this.#until = now + duration
    return duration
  }

  #openWindow(now: number): void {
    this.#windowEnd = now + this.#options.window
    this.#calls = 0
    this.#failures = 0
  }
}
