/**
 * Restores a consumer whose stream, queue or group at the engine is gone: retries until the consumer receives again,
 * and logs the loss and the recovery.
 */
import { backoffDelay, type Logger } from '@elysia-microservices/transport/kit'

const PAUSES = { minDelay: 250, maxDelay: 5_000 }

/** The parameters of a recovery. */
export interface RecoveryOptions {
  /**
   * Names the events that the consumer receives, for logs and health, such as
   * `The durable event 'orders.placed' of the group 'billing'`.
   */
  readonly what: string
  readonly logger: Logger
  /**
   * Creates what is missing at the engine and receives again; rejects if that is not possible now. Resolves with a text
   * that says where the consumer continues.
   */
  recover(): Promise<string>
}

/** Restores one consumer. */
export class Recovery {
  readonly #options: RecoveryOptions
  #unavailable: string | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Counts recoveries, so that the result of an earlier recovery is ignored. */
  #number = 0

  constructor(options: RecoveryOptions) {
    this.#options = options
  }

  /** Why the consumer receives nothing at the moment, as text; `undefined` while it receives. */
  get unavailable(): string | undefined {
    return this.#unavailable
  }

  /**
   * Begins a recovery, because something at the engine is gone. While a recovery is under way, a further call does
   * nothing.
   */
  begin(reason: string): void {
    if (this.#unavailable !== undefined) return
    this.#unavailable = `${this.#options.what} is not received: ${reason}`
    void this.#try(reason, ++this.#number, 0)
  }

  /** Ends a recovery that is no longer needed, or that succeeded in another way. */
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
