/** Whether the server answers: it is lost with a failed statement, and back when one succeeds. */
import { backoffDelay, type Clock, idleTimers } from '@elysia-microservices/transport/kit'

/** Milliseconds between two signs of life of a server to which nothing else is said. */
const SIGNS_EVERY = 2_000
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
  readonly #timers: Pick<Clock, 'after'>
  readonly #random: () => number
  #isConnected = true
  #isClosed = false
  #isWatching = false
  #stopWaiting = () => {}

  /** @param probe a statement that succeeds when the server is back */
  constructor(
    probe: () => Promise<unknown>,
    listener: ReachListener,
    timers: Pick<Clock, 'after'> = idleTimers,
    random: () => number = Math.random
  ) {
    this.#probe = probe
    this.#listener = listener
    this.#timers = timers
    this.#random = random
  }

  /**
   * Asks for signs of life from now on: a driver with a pool tells nobody that the server is lost. Turns of a service
   * are signs of life themselves.
   */
  watch(): void {
    this.#isWatching = true
    this.#later(SIGNS_EVERY, () => {
      this.#probe().then(
        () => this.#isConnected && !this.#isClosed && this.watch(),
        (error: unknown) => this.failed(error)
      )
    })
  }

  #later(pause: number, wake: () => void): void {
    this.#stopWaiting()
    this.#stopWaiting = this.#timers.after(pause, wake)
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
    this.#later(backoffDelay(PAUSES, attempt, this.#random()), () => {
      this.#probe().then(
        () => {
          if (this.#isClosed) return
          this.#isConnected = true
          if (this.#isWatching) this.watch()
          this.#listener.restored()
        },
        () => {
          if (!this.#isClosed) this.#again(attempt + 1)
        }
      )
    })
  }

  close(): void {
    this.#isClosed = true
    this.#stopWaiting()
  }
}
