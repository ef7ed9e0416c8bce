/** A rate-limited log: at most one line per kind every 10 s, with the number of omitted lines. */
import type { Logger } from '@elysia-microservices/transport/kit'

/** Milliseconds between two lines of one kind. */
const INTERVAL = 10_000

interface Line {
  /** Time before which no line of this kind is written. */
  quietUntil: number
  left: number
}

/** A log for warnings that a flood of peers can cause. */
export class QuietLog {
  readonly #logger: Logger
  readonly #now: () => number
  readonly #lines = new Map<string, Line>()

  /** @param now milliseconds of a clock that never goes back */
  constructor(logger: Logger, now: () => number) {
    this.#logger = logger
    this.#now = now
  }

  /** Warns, unless this kind was logged in the last 10 s. There must be few kinds, and peers must not choose them. */
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
