/** One timer for all deadlines of a connection: it is set for the earliest, not for each. */
import type { Timer } from './timer.ts'

/** Runtimes fire longer timers at once. */
const MAX_DELAY = 2 ** 31 - 1

/** Wakes its owner when the earliest deadline asked for has come. */
export class DeadlineTimer implements Timer {
  readonly #wake: (now: number) => void
  readonly #settle: (() => void) | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #at = Number.POSITIVE_INFINITY

  /**
   * @param wake is called when the time has come; deadlines it still wants it must ask for again
   * @param settle is called before: an answer, or a sign of life, may have come and not been looked at
   */
  constructor(wake: (now: number) => void, settle?: () => void) {
    this.#wake = wake
    this.#settle = settle
  }

  now(): number {
    return performance.now()
  }

  wakeAt(time: number): void {
    if (time >= this.#at) return
    clearTimeout(this.#timer)
    this.#at = time
    // Rounded up: a timer that fires early would find nothing due.
    const delay = Math.max(0, Math.ceil(time - this.now()))
    this.#timer = setTimeout(fire, Math.min(delay, MAX_DELAY), this)
  }

  stop(): void {
    clearTimeout(this.#timer)
    // Earlier than any time that may still be asked for.
    this.#at = Number.NEGATIVE_INFINITY
  }

  /** Called by the timer. */
  fire(): void {
    this.#at = Number.POSITIVE_INFINITY
    this.#settle?.()
    // What came may have been the end of the connection.
    if (this.#at === Number.NEGATIVE_INFINITY) return
    this.#wake(this.now())
  }
}

// The timer gets its owner as an argument: no closure for each connection.
function fire(timer: DeadlineTimer): void {
  timer.fire()
}
