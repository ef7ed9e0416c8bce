/** A rate-limited log: at most one line per kind every 10 s, with the number of lines that were left out. */
import type { Logger } from '@elysia-microservices/transport/kit'

/** Milliseconds between two lines of one kind. */
const INTERVAL = 10_000

interface Line {
  /** Nothing of its kind is said before. */
  quietUntil: number
  left: number
}

/** A log for what a flood of peers can cause. */
export class QuietLog {
  readonly #logger: Logger
  readonly #now: () => number
  readonly #lines = new Map<string, Line>()

  /** @param now milliseconds, of a clock that never goes back */
  constructor(logger: Logger, now: () => number) {
    this.#logger = logger
    this.#now = now
  }

  /** Warns, unless something of this kind was said in the last 10 s. Kinds are few, and not chosen by peers. */
  warn(kind: string, message: string): void {
    const now = this.#now()
    const line = this.#lines.get(kind)
    if (line !== undefined && now < line.quietUntil) {
      line.left++
      return
    }
    const left = line?.left ?? 0
    this.#lines.set(kind, { quietUntil: now + INTERVAL, left: 0 })
    this.#logger.warn(left === 0 ? message : `${message} (and ${left} more since this was last said)`)
  }
}
