/** One timer for all deadlines of a connection: the timer is set for the earliest deadline. */
import { LONGEST_TIME } from '../options.ts'
import type { Timer, TimerOwner } from './timer.ts'

/**
 * Milliseconds by which a timer is late in a process that stood still: suspended, or collecting garbage. Bytes that have
 * come meanwhile are read before anything counts as silent.
 */
export const STOOD_STILL = 1_000

/** Wakes its owner at the earliest deadline that was asked for. */
export class DeadlineTimer implements Timer {
  owner: TimerOwner
  readonly #settle: (() => void) | undefined
  readonly #longest: number
  #timer: ReturnType<typeof setTimeout> | undefined
  #at = Number.POSITIVE_INFINITY

  /**
   * @param settle is called before the owner is woken, to handle an answer or sign of life that has arrived but was not
   * read yet
   * @param longest milliseconds after which the owner is woken even if no deadline is due; the owner then sets the
   * timer again if a deadline is left. Default: the longest time that a timer can have
   */
  constructor(owner: TimerOwner, settle?: () => void, longest = LONGEST_TIME) {
    this.owner = owner
    this.#settle = settle
    this.#longest = longest
  }

  now(): number {
    return performance.now()
  }

  wakeAt(time: number): void {
    if (time >= this.#at) return
    clearTimeout(this.#timer)
    this.#at = time
    // The delay is rounded up, because a timer that fires early finds no deadline that is due.
    const delay = Math.max(0, Math.ceil(time - this.now()))
    this.#timer = setTimeout(fire, Math.min(delay, this.#longest), this)
  }

  stop(): void {
    clearTimeout(this.#timer)
    // This time is earlier than any deadline, so `wakeAt` sets no timer after `stop`.
    this.#at = Number.NEGATIVE_INFINITY
  }

  /**
   * Wakes the owner. Called by the timer. Runtimes call timers before they read sockets, so the answers and signs of life
   * that have come while the process stood still are read first.
   * @param isRead the sockets have had their turn
   */
  fire(isRead?: boolean): void {
    if (!isRead && this.now() - this.#at > STOOD_STILL) {
      this.#timer = setTimeout(() => this.fire(true))
      return
    }
    this.#at = Number.POSITIVE_INFINITY
    this.#settle?.()
    // `settle` may have ended the connection, which stops the timer.
    if (this.#at === Number.NEGATIVE_INFINITY) return
    this.owner.wake(this.now())
  }
}

// The timer passes its owner as an argument, so that each connection needs no closure of its own.
function fire(timer: DeadlineTimer): void {
  timer.fire()
}
