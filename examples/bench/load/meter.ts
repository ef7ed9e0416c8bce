/** Counts what a load does. Latencies and completions count only while the meter measures; errors always do. */
import { build } from 'hdr-histogram-js'

/** Milliseconds, or `null` where nothing completed. */
export interface Latencies {
  readonly p50: number | null
  readonly p90: number | null
  readonly p99: number | null
  readonly max: number | null
}

export class Meter {
  /** Requests answered while measuring. */
  completed = 0
  /** Requests that failed, were answered wrongly or not at all, warm-up included: none may go unseen. */
  errors = 0
  /** Every right answer, warm-up included; for the progress line. */
  answered = 0
  /** Why the first of the errors happened. */
  firstError: string | undefined

  #measuring = false
  #startedAt = 0
  #seconds = 0
  // Microseconds. Sized for ten minutes from the start, so that it never grows while measuring.
  readonly #histogram = build({
    bitBucketSize: 32,
    autoResize: true,
    lowestDiscernibleValue: 1,
    highestTrackableValue: 600_000_000,
    numberOfSignificantValueDigits: 3,
    useWebAssembly: false
  })

  /** Notes `count` right answers to requests that took `latency` milliseconds. */
  answers(latency: number, count: number): void {
    this.answered += count
    if (!this.#measuring) return
    this.completed += count
    this.#histogram.recordValueWithCount(Math.round(latency * 1000), count)
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
    this.#seconds = (performance.now() - this.#startedAt) / 1000
  }

  /** How long was measured, once it is over. */
  get seconds(): number {
    return this.#seconds
  }

  latencies(): Latencies {
    const { maxValue } = this.#histogram
    const milliseconds = (microseconds: number) => (this.completed === 0 ? null : microseconds / 1000)
    // A percentile is the upper end of the histogram's step, which may lie beyond what was ever recorded.
    const at = (percentile: number) =>
      milliseconds(Math.min(this.#histogram.getValueAtPercentile(percentile), maxValue))
    return { p50: at(50), p90: at(90), p99: at(99), max: milliseconds(maxValue) }
  }
}

/** Why something failed, in words. Nest's clients fail with strings and plain objects, too. */
export function describe(reason: unknown): string {
  if (reason instanceof Error) return reason.message || reason.name
  return typeof reason === 'string' ? reason : JSON.stringify(reason)
}
