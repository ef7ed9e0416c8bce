/** Counts the outcomes of a load. Latencies and completions count only in the measured time; errors always count. */
import { encodeHistogram, type Latencies, latenciesOf, makeHistogram } from './histogram.ts'
import { RecentPercentile } from './recent-percentile.ts'

/** The figures of a load in the measured time. */
export interface Counts {
  readonly completed: number
  readonly errors: number
  readonly firstError: string | null
  readonly seconds: number
  readonly latencies: Latencies
  /** All latencies in the stored form; `null`: nothing was completed. */
  readonly histogram: string | null
}

export class Meter {
  /** Requests answered while measuring. */
  completed = 0
  /**
   * Requests that failed, or had a wrong answer or none, including those of the warm-up: no error may be overlooked.
   */
  errors = 0
  /** Right answers, including those of the warm-up; for the progress line. */
  answered = 0
  /** The reason of the first error. */
  firstError: string | undefined

  #measuring = false
  #startedAt = Number.POSITIVE_INFINITY
  #stoppedAt = Number.POSITIVE_INFINITY
  #seconds = 0
  readonly #histogram = makeHistogram()
  readonly #recent = new RecentPercentile(99)

  /** Notes `count` right answers to requests that took `latency` milliseconds. */
  answers(latency: number, count: number): void {
    this.answered += count
    if (!this.#measuring) return
    this.completed += count
    this.#histogram.recordValueWithCount(Math.round(latency * 1000), count)
  }

  /** Notes values of streams, which have no latencies of their own. */
  takes(count: number): void {
    this.answered += count
    if (this.#measuring) this.completed += count
  }

  /** Notes how long the first value of a stream took. */
  first(latency: number): void {
    if (this.#measuring) this.#histogram.recordValue(Math.round(latency * 1000))
  }

  /**
   * Notes the right answer to a request by the time at which it was due. It counts if that was in the measured time.
   */
  answerTo(dueAt: number, now: number): void {
    this.answered++
    if (dueAt < this.#startedAt || dueAt >= this.#stoppedAt) return
    this.completed++
    this.#histogram.recordValue(Math.round(Math.max(0, now - dueAt) * 1000))
  }

  failed(reason: unknown, count = 1): void {
    this.errors += count
    this.firstError ??= describe(reason)
  }

  start(): void {
    this.#startedAt = performance.now()
    this.#measuring = true
  }

  stop(): void {
    this.#measuring = false
    this.#stoppedAt = performance.now()
    this.#seconds = (this.#stoppedAt - this.#startedAt) / 1000
  }

  /** The length of the measured time in seconds, once it is over. */
  get seconds(): number {
    return this.#seconds
  }

  /** When measuring ended, in milliseconds of `performance`. */
  get stoppedAt(): number {
    return this.#stoppedAt
  }

  /** The p99 of the answers since the last call; `null`: there were none. */
  recentP99(): number | null {
    return this.#recent.of(this.#histogram)
  }

  latencies(): Latencies {
    return latenciesOf(this.#histogram)
  }

  /** The final counts. */
  counts(): Counts {
    const { completed, errors, firstError = null, seconds } = this
    return {
      completed,
      errors,
      firstError,
      seconds,
      latencies: this.latencies(),
      histogram: encodeHistogram(this.#histogram)
    }
  }
}

/** The text of a failure. NestJS's clients also fail with strings and plain objects. */
export function describe(reason: unknown): string {
  if (reason instanceof Error) return reason.message || reason.name
  return typeof reason === 'string' ? reason : JSON.stringify(reason)
}
