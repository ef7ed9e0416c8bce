/** Combines the figures of several load processes, and divides the work among them. */
import { encodeHistogram, latenciesOf, mergeHistograms } from './histogram.ts'
import type { LoadTotals } from './load-run.ts'

/** Counts are added, histograms are merged; the measured time is the longest. */
export function mergeTotals(parts: readonly LoadTotals[]): LoadTotals {
  const sum = (value: (part: LoadTotals) => number) => parts.reduce((total, part) => total + value(part), 0)
  const histogram = mergeHistograms(parts.map((part) => part.histogram))
  return {
    completed: sum(({ completed }) => completed),
    errors: sum(({ errors }) => errors),
    firstError: parts.find(({ firstError }) => firstError !== null)?.firstError ?? null,
    seconds: Math.max(...parts.map(({ seconds }) => seconds)),
    latencies: latenciesOf(histogram),
    histogram: encodeHistogram(histogram),
    cpuUs: sum(({ cpuUs }) => cpuUs)
  }
}

/** The share of part `index` of `parts` in `total`: a whole number; all shares add up to the total. */
export const shareOf = (total: number, parts: number, index: number): number =>
  Math.floor(total / parts) + (index < total % parts ? 1 : 0)
