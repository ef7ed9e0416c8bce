/** Counts durations in buckets, with one addition for each duration. */

/**
 * Upper bounds in seconds. From 5 ms on they are those of the semantic conventions. The finer bounds below are for
 * `percentile`, because most handlers take less than 5 ms.
 */
export const BOUNDS: readonly number[] = [
  0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1,
  0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10
]
/** Upper bounds in seconds for the lifetimes of streams, which may live for days. */
const LIFETIME_BOUNDS: readonly number[] = [0.01, 0.1, 1, 10, 60, 600, 3_600, 21_600, 86_400]
/** The index in `BOUNDS` of the first bound of the semantic conventions. */
const FIRST_CONVENTIONAL = BOUNDS.indexOf(0.005)

/** The bounds that the semantic conventions recommend for durations of calls. */
export const CONVENTIONAL_BOUNDS: readonly number[] = BOUNDS.slice(FIRST_CONVENTIONAL)

/** Counts durations in buckets. */
export class Histogram {
  /** One count more than there are bounds: the last one counts durations above all bounds. */
  readonly counts: number[]
  readonly bounds: readonly number[]
  /** The sum of all durations, in seconds. */
  sum = 0

  /** @param bounds the upper bounds of the buckets, in seconds */
  constructor(bounds = BOUNDS) {
    this.bounds = bounds
    this.counts = new Array(bounds.length + 1).fill(0)
  }

  /** @param seconds a duration */
  add(seconds: number): void {
    const { bounds } = this
    let bucket = 0
    while (bucket < bounds.length && seconds > (bounds[bucket] as number)) bucket++
    this.counts[bucket] = (this.counts[bucket] as number) + 1
    this.sum += seconds
  }

  /** The durations of two histograms with the same bounds. */
  plus(other: Histogram): Histogram {
    const both = new Histogram(this.bounds)
    for (const [bucket, count] of this.counts.entries())
      both.counts[bucket] = count + (other.counts[bucket] as number)
    both.sum = this.sum + other.sum
    return both
  }

  /** How many durations were counted. */
  get count(): number {
    return this.counts.reduce((all, count) => all + count, 0)
  }

  /** The counts in the buckets of the semantic conventions. */
  get conventional(): number[] {
    const fine = this.counts.slice(0, FIRST_CONVENTIONAL + 1).reduce((all, count) => all + count, 0)
    return [fine, ...this.counts.slice(FIRST_CONVENTIONAL + 1)]
  }
}

/**
 * Counts the durations of streams in two histograms: with the bounds of other messages, so that they can be
 * subtracted from those, and with the bounds for lifetimes.
 */
export class StreamDurations {
  readonly durations = new Histogram()
  readonly lifetimes = new Histogram(LIFETIME_BOUNDS)

  /** @param seconds a duration */
  add(seconds: number): void {
    this.durations.add(seconds)
    this.lifetimes.add(seconds)
  }
}
