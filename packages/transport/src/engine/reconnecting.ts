/** How long a carrier pauses before it looks for a lost server again. */
import { type BackoffOptions, backoffDelay } from '../backoff.ts'

/** Pauses that grow, for one connection. */
export class Reconnecting {
  readonly #options: BackoffOptions
  #attempts = 0
  #connectedAt = Number.NEGATIVE_INFINITY

  constructor(options: BackoffOptions) {
    this.#options = options
  }

  /** There is a connection. */
  connected(): void {
    this.#connectedAt = performance.now()
  }

  /** It is lost. One that is lost again and again at once is no reason to hurry: the pauses go on growing then. */
  lost(): void {
    const hasHeld = performance.now() - this.#connectedAt > this.#options.maxDelay
    this.#attempts = hasHeld ? 0 : this.#attempts + 1
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
