/** One timer for all deadlines of a connection. It is set for the earliest one. */
import { LONGEST_TIME } from '../options.ts'
import type { Timer, TimerOwner } from './timer.ts'

/** Wakes its owner at the earliest deadline that was asked for. */
export class DeadlineTimer implements Timer {
  owner: TimerOwner
  readonly #settle: (() => void) | undefined
  readonly #longest: number
  #timer: ReturnType<typeof setTimeout> | undefined
  #at = Number.POSITIVE_INFINITY

  /**
   * @param settle is called before the owner is woken, to handle an answer or sign of life that has come but was not read yet
   * @param longest milliseconds after which the owner is woken, even if nothing is due; it asks again if something will
   * be. Default: as long as a timer can be
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
    // Rounded up, because a timer that fires early would find nothing due.
    const delay = Math.max(0, Math.ceil(time - this.now()))
    this.#timer = setTimeout(fire, Math.min(delay, this.#longest), this)
  }

  stop(): void {
    clearTimeout(this.#timer)
    // Earlier than any deadline, so that `wakeAt` sets no timer any more.
    this.#at = Number.NEGATIVE_INFINITY
  }

  /** Called by the timer. */
  fire(): void {
    this.#at = Number.POSITIVE_INFINITY
    this.#settle?.()
    // `settle` may have ended the connection, which stops the timer.
    if (this.#at === Number.NEGATIVE_INFINITY) return
    this.owner.wake(this.now())
  }
}

// The timer gets its owner as an argument, so that connections need no closure each.
function fire(timer: DeadlineTimer): void {
  timer.fire()
}
