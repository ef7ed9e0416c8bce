/** Time as durable events see it: the system's, or one that a test sets. */

/** Tells the time and wakes. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Calls `wake` once after so many milliseconds. Returns the function that prevents it. */
  after(milliseconds: number, wake: () => void): () => void
}

/** The system's time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(milliseconds, wake) {
    const timer = setTimeout(wake, milliseconds)
    return () => clearTimeout(timer)
  }
}

/** Milliseconds since an event was published; 0 where the clocks disagree, or tell no time. */
export function ageOf(publishedAt: number, now: number): number {
  const age = now - publishedAt
  return age > 0 && Number.isFinite(age) ? age : 0
}

interface Wake {
  readonly at: number
  readonly order: number
  readonly wake: () => void
}

/** A time that passes only when it is told to, for tests of retries and dead letters without waiting. */
export class ManualClock implements Clock {
  #now: number
  #order = 0
  readonly #wakes = new Set<Wake>()

  /** @param now milliseconds since 1970. Default: 0 */
  constructor(now = 0) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  after(milliseconds: number, wake: () => void): () => void {
    const entry = { at: this.#now + milliseconds, order: this.#order++, wake }
    this.#wakes.add(entry)
    return () => void this.#wakes.delete(entry)
  }

  /** Lets time pass. What it wakes runs in order, and what that begins without waiting has ended when it resolves. */
  async advance(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds
    await turns()
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#wakes.delete(next)
      this.#now = Math.max(this.#now, next.at)
      next.wake()
      await turns()
    }
    this.#now = end
  }

  #next(end: number): Wake | undefined {
    let first: Wake | undefined
    for (const wake of this.#wakes)
      if (
        wake.at <= end &&
        (first === undefined || wake.at < first.at || (wake.at === first.at && wake.order < first.order))
      )
        first = wake
    return first
  }
}

/** Lets everything run that is ready: several turns, because a turn makes others ready. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setTimeout(resolve, 0))
}
