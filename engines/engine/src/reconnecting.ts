/** Calculates how long a carrier waits before it tries to reach a lost server again. */
import { type BackoffOptions, backoffDelay } from '@elysia-microservices/transport/kit'

/** The growing pauses between attempts of one connection. */
export class Reconnecting {
  readonly #options: BackoffOptions
  #attempts = 0
  #brief = 0
  #connectedAt = Number.NEGATIVE_INFINITY

  constructor(options: BackoffOptions) {
    this.#options = options
  }

  /** The connection was made. */
  connected(): void {
    this.#connectedAt = performance.now()
  }

  /**
   * The connection was lost. If it had lasted only briefly, the pauses keep growing, so that a connection which is lost
   * again and again is not retried at once.
   */
  lost(): void {
    const hasHeld = performance.now() - this.#connectedAt > this.#options.maxDelay
    this.#attempts = hasHeld ? 0 : this.#attempts + 1
    this.#brief = hasHeld ? 0 : this.#brief + 1
  }

  /** The connections in a row that were made and lasted only briefly. */
  get brief(): number {
    return this.#brief
  }

  /** An attempt has failed. */
  failed(): void {
    this.#attempts++
  }

  /** Milliseconds until the next attempt. */
  get pause(): number {
    return backoffDelay(this.#options, this.#attempts, Math.random())
  }
}
