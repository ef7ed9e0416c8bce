/**
 * Restores a consumer whose stream, queue or group at the engine is gone: retries until it is there again, and logs
 * that.
 */
import { backoffDelay } from '../../backoff.ts'
import type { Logger } from '../../logger.ts'

const PAUSES = { minDelay: 250, maxDelay: 5_000 }

/** The parts from which a recovery is made. */
export interface RecoveryOptions {
  /**
   * The events that are received, for logs and health, such as `The durable event 'orders.placed' of the group
   * 'billing'`.
   */
  readonly what: string
  readonly logger: Logger
  /** Makes what is missing and receives again; rejects if that is not possible now. Resolves with where it goes on, in words. */
  recover(): Promise<string>
}

/** One consumer's. */
export class Recovery {
  readonly #options: RecoveryOptions
  #unavailable: string | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Counts recoveries: what belongs to an earlier one is over. */
  #number = 0

  constructor(options: RecoveryOptions) {
    this.#options = options
  }

  /** Why nothing is received at the moment, in words; `undefined` if it is. */
  get unavailable(): string | undefined {
    return this.#unavailable
  }

  /** Something is gone. One recovery at a time: what is said while one is under way changes nothing. */
  begin(reason: string): void {
    if (this.#unavailable !== undefined) return
    this.#unavailable = `${this.#options.what} is not received: ${reason}`
    void this.#try(reason, ++this.#number, 0)
  }

  /** It is not wanted any more, or done otherwise. */
  end(): void {
    this.#number++
    clearTimeout(this.#timer)
    this.#unavailable = undefined
  }

  async #try(reason: string, number: number, attempt: number): Promise<void> {
    const { what, logger, recover } = this.#options
    try {
      const where = await recover()
      if (number !== this.#number) return
      this.#unavailable = undefined
      if (attempt === 0) logger.error(`${what}: ${reason}; it is received again, ${where}`)
      else logger.warn(`${what} is received again, ${where}`)
    } catch (error) {
      if (number !== this.#number) return
      this.#unavailable = `${what} is not received: ${reason}, and cannot be restored: ${(error as Error).message}`
      if (attempt === 0) logger.error(`${what}: ${reason}, and cannot be restored yet; trying again`, error)
      const next = () => void this.#try(reason, number, attempt + 1)
      this.#timer = setTimeout(next, backoffDelay(PAUSES, attempt, Math.random()))
      ;(this.#timer as { unref?(): void }).unref?.()
    }
  }
}
