/**
 * Latency histograms: recorded in microseconds, stored as HdrHistogram's own compressed text, which any of its tools
 * reads. Histograms can be added exactly and percentiles cannot, so a result contains a whole histogram.
 */
import {
  build,
  decodeFromCompressedBase64,
  encodeIntoCompressedBase64,
  type Histogram
} from 'hdr-histogram-js'

const DIGITS = 3

/** Created large enough for ten minutes, so that it never grows while measuring. */
export const makeHistogram = (): Histogram =>
  build({
    bitBucketSize: 32,
    autoResize: true,
    lowestDiscernibleValue: 1,
    highestTrackableValue: 600_000_000,
    numberOfSignificantValueDigits: DIGITS,
    useWebAssembly: false
  })

/** The stored form; `null`: nothing was recorded. */
export const encodeHistogram = (histogram: Histogram): string | null =>
  histogram.totalCount === 0 ? null : encodeIntoCompressedBase64(histogram)

/** All values of several histograms; `null` stands for an empty one. */
export function mergeHistograms(encoded: readonly (string | null)[]): Histogram {
  const merged = makeHistogram()
  for (const text of encoded) if (text !== null) merged.add(decodeFromCompressedBase64(text, 32, false))
  return merged
}

/** Latencies in milliseconds; `null`: no request was completed. */
export interface Latencies {
  readonly p50: number | null
  readonly p90: number | null
  readonly p99: number | null
  readonly max: number | null
}

export function latenciesOf(histogram: Histogram): Latencies {
  const at = (percentile: number) =>
    histogram.totalCount === 0 ? null : millisecondsAt(histogram, percentile)
  return { p50: at(50), p90: at(90), p99: at(99), max: at(100) }
}

/** The median in milliseconds; `null`: nothing was recorded. */
export const medianOf = (histogram: Histogram): number | null => latenciesOf(histogram).p50

export interface CurvePoint {
  /** 50, 99, 99.9… */
  readonly percentile: number
  /** One of this many requests is slower: 2, 100, 1000… */
  readonly oneIn: number
  readonly milliseconds: number
}

const POINTS_PER_DECADE = 8
/**
 * The fewest requests above a point of the curve: with fewer, a single slow request would decide where the curve
 * ends.
 */
const REQUESTS_PER_POINT = 5
const LAST_DECADE = 6

/** The latencies that one request in 1, 10, 100… exceeds, as far as there are enough requests. */
export function percentileCurve(histogram: Histogram): CurvePoint[] {
  const last = Math.min(10 ** LAST_DECADE, histogram.totalCount / REQUESTS_PER_POINT)
  if (last < 1) return []
  return Array.from(
    { length: LAST_DECADE * POINTS_PER_DECADE + 1 },
    (_, index) => 10 ** (index / POINTS_PER_DECADE)
  )
    .filter((oneIn) => oneIn <= last)
    .map((oneIn) => {
      const percentile = 100 * (1 - 1 / oneIn)
      return { percentile, oneIn, milliseconds: millisecondsAt(histogram, percentile) }
    })
}

// A percentile is the upper end of the histogram's bucket, which may be above the highest recorded value.
const millisecondsAt = (histogram: Histogram, percentile: number): number =>
  Math.min(histogram.getValueAtPercentile(percentile), histogram.maxValue) / 1000
