/** Whether the server answers: it is lost with a failed statement, and back when one succeeds. */
import { backoffDelay } from '@elysia-microservices/transport/kit'

const PAUSES = { minDelay: 100, maxDelay: 5_000 }

/** Gets the changes. */
export interface ReachListener {
  lost(why?: string): void
  restored(): void
}

/** One connection's view of the server. */
export class Reach {
  readonly #listener: ReachListener
  readonly #probe: () => Promise<unknown>
  #isConnected = true
  #isClosed = false
  #timer: ReturnType<typeof setTimeout> | undefined

  /** @param probe a statement that succeeds when the server is back */
  constructor(probe: () => Promise<unknown>, listener: ReachListener) {
    this.#probe = probe
    this.#listener = listener
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  /** A statement has failed, and the server may be lost. */
  failed(error: unknown): void {
    if (!this.#isConnected || this.#isClosed) return
    this.#isConnected = false
    this.#listener.lost((error as Error).message)
    this.#again(0)
  }

  #again(attempt: number): void {
    this.#timer = setTimeout(() => {
      this.#probe().then(
        () => {
          if (this.#isClosed) return
          this.#isConnected = true
          this.#listener.restored()
        },
        () => {
          if (!this.#isClosed) this.#again(attempt + 1)
        }
      )
    }, backoffDelay(PAUSES, attempt, Math.random()))
    ;(this.#timer as { unref?(): void }).unref?.()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }
}
