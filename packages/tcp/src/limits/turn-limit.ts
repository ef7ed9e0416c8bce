/**
 * How long a process that is never idle may take requests in one turn of its event loop. Handlers that compute
 * answer in the turn they are called and are never in flight: what is too much for them waits unseen, in the
 * buffers of sockets, for ever longer. So a process has a credit of work: idle time fills it, turns use it up. While
 * there is credit a turn takes everything, which is for bursts; without it, a turn takes requests for some
 * milliseconds only, and what has come beside them need not wait to be refused.
 */

/** Milliseconds for which a turn takes requests without credit; a good queue, says CoDel (RFC 8289). */
const TURN = 5
/** Milliseconds of work without idle time that are a burst and no overload. */
const MOST_CREDIT = 50
/** Credit for a millisecond of idle time: a process that is idle for a tenth of its time does not run out of it. */
const CREDIT_PER_IDLE = 9

/** Watches turns. Pure: clock and event loop are given. */
export class TurnLimit {
  readonly #now: () => number
  readonly #afterTurn: (task: () => void) => void
  readonly #ended: () => void
  /** When the turn took its first request; `undefined` between two turns. */
  #startedAt: number | undefined
  #endedAt: number
  #credit = MOST_CREDIT

  /**
   * @param now milliseconds, of a clock that never goes back
   * @param afterTurn calls the task when this turn of the event loop is over
   * @param ended is called at the end of each turn that took requests
   */
  constructor(now: () => number, afterTurn: (task: () => void) => void, ended: () => void) {
    this.#now = now
    this.#afterTurn = afterTurn
    this.#ended = ended
    this.#endedAt = now()
  }

  /** Whether this turn takes no more requests. The first of a turn is always taken. */
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
