/** One timer for all deadlines of a connection: it is set for the earliest, not for each. */
import type { Timer } from '../protocol/connection.ts'
import { readQueue } from '../read-queue.ts'

/** Node and Bun fire longer timers at once. */
const MAX_DELAY = 2 ** 31 - 1

/** Wakes its owner when the earliest deadline asked for has come. */
export class DeadlineTimer implements Timer {
  readonly #wake: (now: number) => void
  #timer: ReturnType<typeof setTimeout> | undefined
  #at = Number.POSITIVE_INFINITY

  /** @param wake is called when the time has come; deadlines it still wants it must ask for again */
  constructor(wake: (now: number) => void) {
    this.#wake = wake
  }

  /** The clock of the deadlines: milliseconds, never going back. */
  now(): number {
    return performance.now()
  }

  /** Asks to be woken at that time. Does nothing if a wake-up is due earlier. */
  wakeAt(time: number): void {
    if (time >= this.#at) return
    clearTimeout(this.#timer)
    this.#at = time
    // Rounded up: a timer that fires early would find nothing due.
    const delay = Math.max(0, Math.ceil(time - this.now()))
    this.#timer = setTimeout(fire, Math.min(delay, MAX_DELAY), this)
  }

  /** The connection is over: no wake-up any more, whoever asks. */
  stop(): void {
    clearTimeout(this.#timer)
    // Earlier than any time that may still be asked for.
    this.#at = Number.NEGATIVE_INFINITY
  }

  /** Called by the timer. */
  fire(): void {
    this.#at = Number.POSITIVE_INFINITY
    // An answer, or a sign of life, may have been read just now.
    readQueue.handle()
    // And with it the end of the connection.
    if (this.#at === Number.NEGATIVE_INFINITY) return
    this.#wake(this.now())
  }
}

// The timer gets its owner as an argument: no closure for each connection.
function fire(timer: DeadlineTimer): void {
  timer.fire()
}
