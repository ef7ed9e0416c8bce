/**
 * Calculates a percentile of the values that a histogram has recorded since the last call, without extra work while
 * recording.
 */
import type { Histogram } from 'hdr-histogram-js'

/** Members of every histogram of this kind that its public type lacks. */
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

  /** The percentile in milliseconds; `null`: nothing was recorded since the last call. */
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
    // From the slow end, because few buckets have to be visited until one in a hundred is reached.
    let above = total * this.#share
    for (let index = now.length - 1; index >= 0 && total > 0; index--) {
      above -= now[index]! - (before[index] ?? 0)
      if (above < 0) return buckets.valueFromIndex(index) / 1000
    }
    return null
  }
}
