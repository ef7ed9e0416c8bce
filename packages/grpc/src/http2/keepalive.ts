/**
 * Notices a peer that is gone without a word: after a time in which nothing has arrived, a PING asks for a sign of life.
 * The clock and the timer are those of the connection. grpc: doc/keepalive.md.
 */

/** When a peer is asked, and how long it has for its answer. Milliseconds. */
export interface KeepaliveTimes {
  /** Time without a byte from the peer, after which it is asked; `Infinity`: it never is. */
  readonly interval: number
  /** Time until something must have arrived. */
  readonly timeout: number
}

/** The connection, as its keepalive needs it. */
export interface KeptAlive {
  /** The time at which bytes have last arrived. */
  readonly heardAt: number
  /** Whether a sign of life is wanted: otherwise the peer is left alone. */
  readonly isWanted: boolean
  /** Sends a PING. */
  ping(): void
  /** The peer is dead: the connection ends. */
  dead(reason: Error): void
}

/** Keeps one connection alive. */
export class Keepalive {
  readonly #times: KeepaliveTimes
  readonly #connection: KeptAlive
  /** The time of the PING whose answer is awaited. */
  #askedAt: number | undefined

  constructor(times: KeepaliveTimes, connection: KeptAlive) {
    this.#times = times
    this.#connection = connection
  }

  /** The time at which the connection must be looked at next; `Infinity`: never, as long as nobody wants a sign. */
  next(): number {
    const { interval, timeout } = this.#times
    const { heardAt, isWanted } = this.#connection
    if (this.#askedAt !== undefined && heardAt <= this.#askedAt) return this.#askedAt + timeout
    return isWanted ? heardAt + interval : Number.POSITIVE_INFINITY
  }

  /** Looks at the connection. Returns the time of the next look, as `next` does. */
  look(now: number): number {
    if (this.next() > now) return this.next()
    const { interval, timeout } = this.#times
    const { heardAt } = this.#connection
    if (this.#askedAt !== undefined && heardAt <= this.#askedAt) {
      this.#connection.dead(
        new Error(
          `nothing has arrived for keepalive.interval (${interval} ms), nor an answer to PING within keepalive.timeout (${timeout} ms)`
        )
      )
      return Number.POSITIVE_INFINITY
    }
    this.#askedAt = now
    this.#connection.ping()
    return now + timeout
  }
}
