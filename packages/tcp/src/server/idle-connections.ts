/** Closes idle connections, and those that never say anything, with one timer for all of them. */
import type { Session } from '../connection/session.ts'

/** Checks per timeout, so a connection may stay up to a quarter of the timeout longer. */
const LOOKS = 4

/** Watches the connections of a server. */
export class IdleConnections {
  readonly #sessions: ReadonlySet<Session>
  readonly #timeout: number
  readonly #silence: number
  readonly #close: (session: Session, isSilent: boolean) => void
  /** Time at which each connection was last seen active. */
  readonly #activeAt = new WeakMap<Session, number>()
  #timer: ReturnType<typeof setInterval> | undefined

  /**
   * @param timeout milliseconds without activity; 0 for no limit
   * @param silence milliseconds until a connection must have sent its first byte; 0 for no limit
   * @param close is called once for a connection for which one of them has passed
   */
  constructor(
    sessions: ReadonlySet<Session>,
    timeout: number,
    silence: number,
    close: (session: Session, isSilent: boolean) => void
  ) {
    this.#sessions = sessions
    this.#timeout = timeout
    this.#silence = silence
    this.#close = close
  }

  start(): void {
    const shortest = Math.min(...[this.#timeout, this.#silence].filter((limit) => limit > 0))
    if (shortest === Number.POSITIVE_INFINITY) return
    const pause = Math.ceil(shortest / LOOKS)
    this.#timer ??= setInterval(() => this.look(performance.now()), pause).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Checks all connections. @param now milliseconds of a clock that never goes back */
  look(now: number): void {
    for (const session of this.#sessions) {
      const activeAt = this.#activeAt.get(session)
      const isActive = session.takeActivity()
      if (isActive || activeAt === undefined) {
        this.#activeAt.set(session, now)
        continue
      }
      const pause = now - activeAt
      const isIdle = this.#timeout > 0 && pause >= this.#timeout
      const isSilent = this.#silence > 0 && pause >= this.#silence && session.protocol === undefined
      if (!isIdle && !isSilent) continue
      // Not called again while the connection is closing.
      this.#activeAt.set(session, Number.POSITIVE_INFINITY)
      this.#close(session, !isIdle)
    }
  }
}
