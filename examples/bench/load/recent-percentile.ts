/** A percentile of what a histogram got since it was last looked at. Recording costs nothing more for it. */
import type { Histogram } from 'hdr-histogram-js'

/** Members that every histogram of this kind has, though its public type does not name them. */
interface Buckets {
  readonly countsArrayLength: number
  getCountAtIndex(index: number): number
  valueFromIndex(index: number): number
}

export class RecentPercentile {
  readonly #share: number
  #seen: Float64Array = new Float64Array(0)

  constructor(percentile: number) {
    this.#share = 1 - percentile / 100
  }

  /** Milliseconds; `null` where nothing was recorded since the last call. */
  of(histogram: Histogram): number | null {
    const buckets = histogram as unknown as Buckets
    const before = this.#seen
    const now = new Float64Array(buckets.countsArrayLength)
    let total = 0
    for (let index = 0; index < now.length; index++) {
      now[index] = buckets.getCountAtIndex(index)
      total += now[index]! - (before[index] ?? 0)
    }
    this.#seen = now
    // From the slow end: few buckets until one in a hundred is reached.
    let above = total * this.#share
    for (let index = now.length - 1; index >= 0 && total > 0; index--) {
      above -= now[index]! - (before[index] ?? 0)
      if (above < 0) return buckets.valueFromIndex(index) / 1000
    }
    return null
  }
}
