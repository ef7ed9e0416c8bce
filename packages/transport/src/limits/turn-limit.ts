/**
 * How long a process that is never idle may take requests in one turn of its event loop. Handlers that compute
 * answer in the turn they are called and are never in flight: what is too much for them waits unseen, in the
 * buffers of sockets, for ever longer. So where there was hardly any idle time in the last tenth of a second, a turn
 * takes requests for some milliseconds only, and what has come beside them need not wait to be refused. The two
 * figures are those of CoDel (RFC 8289): 5 ms are a good queue, and 100 ms tell a bad one from a burst.
 */

/** Milliseconds for which a turn takes requests while the process is busy. */
const TURN = 5
/** Milliseconds over which idle time is counted. */
const WINDOW = 100
/** Share of the window below which a process is busy. */
const IDLE_SHARE = 0.05

/** Watches turns. Pure: clock and event loop are given. */
export class TurnLimit {
  readonly #now: () => number
  readonly #afterTurn: (task: () => void) => void
  readonly #ended: () => void
  /** When the turn took its first request; `undefined` between two turns. */
  #startedAt: number | undefined
  #endedAt: number
  #windowStart: number
  #idle = 0
  #busy = false

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
    this.#windowStart = this.#endedAt
  }

  /** Whether this turn takes no more requests. The first of a turn is always taken. */
  get exhausted(): boolean {
    const now = this.#now()
    if (this.#startedAt === undefined) {
      this.#begin(now)
      return false
    }
    if (now - this.#startedAt < TURN) return false
    this.#observe(now)
    return this.#busy
  }

  #begin(now: number): void {
    this.#startedAt = now
    this.#idle += now - this.#endedAt
    this.#observe(now)
    this.#afterTurn(this.#end)
  }

  readonly #end = (): void => {
    this.#endedAt = this.#now()
    this.#startedAt = undefined
    this.#ended()
  }

  #observe(now: number): void {
    const length = now - this.#windowStart
    if (length < WINDOW) return
    this.#busy = this.#idle < length * IDLE_SHARE
    this.#windowStart = now
    this.#idle = 0
  }
}
