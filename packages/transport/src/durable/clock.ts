/** The clock of durable events: the system's clock, or a clock that a test sets. */

/** Tells the time and calls functions later. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Milliseconds that have passed since some moment, by a clock that nobody sets. Default: `now()` */
  passed?(): number
  /** Calls `wake` once after a time in milliseconds. Returns a function that cancels the call. */
  after(milliseconds: number, wake: () => void): () => void
}

/** The system's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  passed: () => performance.now(),
  after(milliseconds, wake) {
    const timer = setTimeout(wake, milliseconds)
    return () => clearTimeout(timer)
  }
}

/** A clock that only goes forward, for times that pass: the system's may be set meanwhile. */
export const monotonicClock: Clock = {
  now: () => performance.now(),
  after: (milliseconds, wake) => systemClock.after(milliseconds, wake)
}

/** The system's timers for work that no program goes on for, such as looks at a store. */
export const idleTimers: Pick<Clock, 'after'> = {
  after(milliseconds, wake) {
    const timer = setTimeout(wake, milliseconds)
    ;(timer as { unref?(): void }).unref?.()
    return () => clearTimeout(timer)
  }
}

/** The time by which it is measured how long something takes: the clock may be set meanwhile. */
export function passedBy(clock: Clock): number {
  return clock.passed?.() ?? clock.now()
}

/** Most milliseconds after which those who wait for a time look at the clock again: it may be set meanwhile. */
export const LOOK_AT_CLOCK = 60_000

/**
 * Milliseconds since an event was published; 0 if the clocks of the two processes disagree, or a time is not a number.
 */
export function ageOf(publishedAt: number, now: number): number {
  const age = now - publishedAt
  return age > 0 && Number.isFinite(age) ? age : 0
}

interface Wake {
  readonly at: number
  readonly order: number
  readonly wake: () => void
}

/** A clock that only moves when a test advances it, so that retries and dead letters are tested without waiting. */
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

  /** The number of functions that are to be called later. */
  get waiting(): number {
    return this.#wakes.size
  }

  after(milliseconds: number, wake: () => void): () => void {
    const entry = { at: this.#now + milliseconds, order: this.#order++, wake }
    this.#wakes.add(entry)
    return () => void this.#wakes.delete(entry)
  }

  /**
   * Advances the clock and calls all functions that are due, in order. The promise resolves when the work of these
   * functions has ended, except for work that waits for something.
   */
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

/**
 * Lets all ready tasks run. It waits for several turns of the event loop, because a turn may make other tasks ready.
 */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setTimeout(resolve, 0))
}
