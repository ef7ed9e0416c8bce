/** Closes connections that are idle, silent or old, with one timer for all of them. */
import { unref } from '../host.ts'
import type { Session } from './session.ts'

/** Number of checks per limit. A connection may stay open up to a quarter of the limit longer. */
const LOOKS = 4
/** Share of the limit by which ages differ, so that connections which were made together do not reconnect together. */
const SPREAD = 0.2

/** Limits in milliseconds; 0 for no limit. */
export interface TimeLimits {
  /** Longest time without activity. */
  readonly idle: number
  /** Longest time until the first byte of a connection. */
  readonly silence: number
  /** Longest age of a connection whose peer can be told to connect again. */
  readonly age: number
}

/** Checks the times of a server's connections. */
export class ConnectionTimes {
  readonly #sessions: ReadonlySet<Session>
  readonly #limits: TimeLimits
  readonly #close: (session: Session, limit: keyof TimeLimits) => void
  /** Time at which each connection was last seen active. */
  readonly #activeAt = new WeakMap<Session, number>()
  /** Time at which each connection reaches its largest age. */
  readonly #oldAt = new WeakMap<Session, number>()
  #timer: ReturnType<typeof setInterval> | undefined

  /** @param close is called once for a connection that has passed one of the limits */
  constructor(
    sessions: ReadonlySet<Session>,
    limits: TimeLimits,
    close: (session: Session, limit: keyof TimeLimits) => void
  ) {
    this.#sessions = sessions
    this.#limits = limits
    this.#close = close
  }

  /** Starts the checks. */
  start(): void {
    const { idle, silence, age } = this.#limits
    const shortest = Math.min(...[idle, silence, age].filter((limit) => limit > 0))
    if (shortest === Number.POSITIVE_INFINITY) return
    const pause = Math.ceil(shortest / LOOKS)
    let lookedAt = performance.now()
    const look = () => {
      const now = performance.now()
      const stoodStill = now - lookedAt > 2 * pause
      lookedAt = now
      // Chunks that arrived while this process stood still are read before the next look.
      if (!stoodStill) this.look(now)
    }
    this.#timer ??= unref(setInterval(look, pause))
  }

  /** Stops the checks. */
  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /**
   * Checks all connections.
   * @param now milliseconds of a clock that never goes back
   */
  look(now: number): void {
    for (const session of this.#sessions) {
      const limit = this.#passed(session, now)
      if (limit === undefined) continue
      // These times keep `close` from being called again while the connection is closing.
      this.#activeAt.set(session, Number.POSITIVE_INFINITY)
      this.#oldAt.set(session, Number.POSITIVE_INFINITY)
      this.#close(session, limit)
    }
  }

  /** The limit that a connection has passed, if any. */
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
