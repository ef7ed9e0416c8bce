/**
 * Limits how long a process that is never idle takes requests in one turn of its event loop. A handler that only
 * computes answers in the turn in which it is called and is never in flight, so its overload is invisible: requests
 * wait longer and longer in the buffers of sockets. Therefore a process has a credit of work. Idle time adds credit and
 * turns use it. With credit a turn takes all requests, so that bursts are handled. Without credit a turn takes requests
 * for a few milliseconds only, and refuses the rest at once.
 */

/** Milliseconds for which a turn takes requests without credit: CoDel's target delay (RFC 8289). */
const TURN = 5
/** Most credit: milliseconds of work without idle time that count as a burst and not as overload. */
const MOST_CREDIT = 50
/** Credit per millisecond of idle time: a process that is idle for a tenth of its time never uses up its credit. */
const CREDIT_PER_IDLE = 9

/** Watches turns. Pure: the caller provides the clock and the event loop. */
export class TurnLimit {
  readonly #now: () => number
  readonly #afterTurn: (task: () => void) => void
  readonly #ended: () => void
  /** Time of the turn's first request; `undefined` between turns. */
  #startedAt: number | undefined
  #endedAt: number
  #credit = MOST_CREDIT

  /**
   * @param now milliseconds of a clock that never goes back
   * @param afterTurn calls the task when this turn of the event loop has ended
   * @param ended is called at the end of each turn that took requests
   */
  constructor(now: () => number, afterTurn: (task: () => void) => void, ended: () => void) {
    this.#now = now
    this.#afterTurn = afterTurn
    this.#ended = ended
    this.#endedAt = now()
  }

  /** Whether this turn takes no more requests. The first request of a turn is always taken. */
  get exhausted(): boolean {
    const now = this.#now()
    if (this.#startedAt === undefined) {
      this.#begin(now)
      return false
    }
    return now - this.#startedAt >= Math.max(TURN, this.#credit)
  }

  #begin(now: number): void {
    this.#startedAt = now
    this.#credit = Math.min(MOST_CREDIT, this.#credit + (now - this.#endedAt) * CREDIT_PER_IDLE)
    this.#afterTurn(() => this.#end(now))
  }

  #end(startedAt: number): void {
    this.#endedAt = this.#now()
    this.#startedAt = undefined
    this.#credit = Math.max(0, this.#credit - (this.#endedAt - startedAt))
    this.#ended()
  }
}
