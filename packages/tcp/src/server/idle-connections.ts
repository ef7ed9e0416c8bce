/** Closes connections over which nothing has gone for a while. One timer for all, none for each message. */
import type { Session } from '../connection/session.ts'

/** Checks per timeout; a connection may outlive its timeout by a quarter. */
const LOOKS = 4

/** Watches the connections of a server. */
export class IdleConnections {
  readonly #sessions: ReadonlySet<Session>
  readonly #timeout: number
  readonly #close: (session: Session) => void
  /** When a connection was last seen to be active. */
  readonly #activeAt = new WeakMap<Session, number>()
  #timer: ReturnType<typeof setInterval> | undefined

  /**
   * @param timeout milliseconds; 0 to watch nothing
   * @param close is called once for a connection that was idle for so long
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

  /** Looks at all connections. @param now milliseconds, of a clock that never goes back */
  look(now: number): void {
    for (const session of this.#sessions) {
      const activeAt = this.#activeAt.get(session)
      if (session.takeActivity() || activeAt === undefined) this.#activeAt.set(session, now)
      else if (now - activeAt >= this.#timeout) {
        // Not again, while the peer takes its time to close.
        this.#activeAt.set(session, Number.POSITIVE_INFINITY)
        this.#close(session)
      }
    }
  }
}
