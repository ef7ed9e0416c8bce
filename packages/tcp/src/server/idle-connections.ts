/** Closes idle connections, with one timer for all of them. */
import type { Session } from '../connection/session.ts'

/** Checks per timeout, so a connection may stay up to a quarter of the timeout longer. */
const LOOKS = 4

/** Watches the connections of a server. */
export class IdleConnections {
  readonly #sessions: ReadonlySet<Session>
  readonly #timeout: number
  readonly #close: (session: Session) => void
  /** Time at which each connection was last seen active. */
  readonly #activeAt = new WeakMap<Session, number>()
  #timer: ReturnType<typeof setInterval> | undefined

  /**
   * @param timeout milliseconds; 0 to close nothing
   * @param close is called once for a connection that was idle for the timeout
   */
  constructor(sessions: ReadonlySet<Session>, timeout: number, close: (session: Session) => void) {
    this.#sessions = sessions
    this.#timeout = timeout
    this.#close = close
  }

  start(): void {
    if (this.#timeout === 0) return
    this.#timer ??= setInterval(() => this.look(performance.now()), Math.ceil(this.#timeout / LOOKS)).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Checks all connections. @param now milliseconds of a clock that never goes back */
  look(now: number): void {
    for (const session of this.#sessions) {
      const activeAt = this.#activeAt.get(session)
      if (session.takeActivity() || activeAt === undefined) this.#activeAt.set(session, now)
      else if (now - activeAt >= this.#timeout) {
        // Not called again while the connection is closing.
        this.#activeAt.set(session, Number.POSITIVE_INFINITY)
        this.#close(session)
      }
    }
  }
}
