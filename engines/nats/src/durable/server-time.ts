/** The time of the server, by which events become due. It is asked for, and counted on from then. */

/** Milliseconds after which the server is asked again: its clock may have been set. */
const STALE = 60_000

/** The time of one server. */
export class ServerTime {
  /** `undefined`: not told yet. */
  #told: { readonly time: number; readonly askedAt: number; readonly answeredAt: number } | undefined
  #isOther = false

  /**
   * The server has told its time.
   * @param text `undefined`: it tells none, and the time of this process is taken
   * @param askedAt when it was asked, by `performance.now()`
   */
  tell(text: string | undefined, askedAt: number): void {
    const time = Date.parse(text ?? '')
    this.#told = { time: Number.isNaN(time) ? Date.now() : time, askedAt, answeredAt: performance.now() }
    this.#isOther = false
  }

  /** There is another server, perhaps with another time. */
  restored(): void {
    this.#isOther = true
  }

  /** Whether the server has to be asked again. Before it has told its time, it is asked anyway. */
  get isStale(): boolean {
    return this.#told !== undefined && (this.#isOther || performance.now() - this.#told.askedAt > STALE)
  }

  /** A time that the server has not passed. */
  get latest(): number {
    const { time, askedAt } = this.#told ?? NOW
    // The server tells nanoseconds, of which only milliseconds are read.
    return time + 1 + (performance.now() - askedAt)
  }

  /** A time that the server has reached. */
  get earliest(): number {
    const { time, answeredAt } = this.#told ?? NOW
    return time + (performance.now() - answeredAt)
  }
}

/** The time of this process. */
const NOW = {
  get time() {
    return Date.now()
  },
  get askedAt() {
    return performance.now()
  },
  get answeredAt() {
    return performance.now()
  }
}
