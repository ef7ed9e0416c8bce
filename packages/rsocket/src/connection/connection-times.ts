/** Closes connections that are idle, silent or old, with one timer for all of them. */
import { unref } from '../host.ts'
import type { Session } from './session.ts'

/** Checks per limit, so a connection may stay up to a quarter of the limit longer. */
const LOOKS = 4
/** Share of the limit by which ages are spread, so that connections made together do not all connect again together. */
const SPREAD = 0.2

/** Limits in milliseconds; 0 for no limit. */
export interface TimeLimits {
  /** Without activity. */
  readonly idle: number
  /** Until a connection must have sent its first byte. */
  readonly silence: number
  /** Since it was opened, for connections whose peer can be told to connect again. */
  readonly age: number
}

/** Watches the times of a server's connections. */
export class ConnectionTimes {
  readonly #sessions: ReadonlySet<Session>
  readonly #limits: TimeLimits
  readonly #close: (session: Session, limit: keyof TimeLimits) => void
  /** Time at which each connection was last seen active. */
  readonly #activeAt = new WeakMap<Session, number>()
  /** Time at which each connection is too old. */
  readonly #oldAt = new WeakMap<Session, number>()
  #timer: ReturnType<typeof setInterval> | undefined

  /** @param close is called once for a connection for which one of the limits has passed */
  constructor(
    sessions: ReadonlySet<Session>,
    limits: TimeLimits,
    close: (session: Session, limit: keyof TimeLimits) => void
  ) {
    this.#sessions = sessions
    this.#limits = limits
    this.#close = close
  }

  /** Begins to look. */
  start(): void {
    const { idle, silence, age } = this.#limits
    const shortest = Math.min(...[idle, silence, age].filter((limit) => limit > 0))
    if (shortest === Number.POSITIVE_INFINITY) return
    const pause = Math.ceil(shortest / LOOKS)
    this.#timer ??= unref(setInterval(() => this.look(performance.now()), pause))
  }

  /** Looks no more. */
  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Checks all connections. @param now milliseconds of a clock that never goes back */
  look(now: number): void {
    for (const session of this.#sessions) {
      const limit = this.#passed(session, now)
      if (limit === undefined) continue
      // Not called again while the connection is closing.
      this.#activeAt.set(session, Number.POSITIVE_INFINITY)
      this.#oldAt.set(session, Number.POSITIVE_INFINITY)
      this.#close(session, limit)
    }
  }

  /** The limit that has passed for a connection, if one has. */
  #passed(session: Session, now: number): keyof TimeLimits | undefined {
    const { idle, silence } = this.#limits
    const activeAt = this.#activeAt.get(session)
    if (session.takeActivity() || activeAt === undefined) {
      if (activeAt !== Number.POSITIVE_INFINITY) this.#activeAt.set(session, now)
    } else {
      const pause = now - activeAt
      if (idle > 0 && pause >= idle) return 'idle'
      if (silence > 0 && pause >= silence && session.protocol === undefined) return 'silence'
    }
    return this.#isOld(session, now) ? 'age' : undefined
  }

  #isOld(session: Session, now: number): boolean {
    const { age } = this.#limits
    if (age === 0) return false
    const oldAt = this.#oldAt.get(session)
    if (oldAt === undefined) this.#oldAt.set(session, now + age * (1 - SPREAD / 2 + SPREAD * Math.random()))
    return oldAt !== undefined && now >= oldAt && session.protocol?.handsOver === true
  }
}
