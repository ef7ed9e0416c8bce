/** The figures of several load processes as one, and how the work is divided among them. */
import { encodeHistogram, latenciesOf, mergeHistograms } from './histogram.ts'
import type { LoadTotals } from './load-run.ts'

/** Counts add up, histograms merge; the measured time is the longest. */
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

/** The share of `total` that falls to part `index` of `parts`: whole, and together the total. */
export const shareOf = (total: number, parts: number, index: number): number =>
  Math.floor(total / parts) + (index < total % parts ? 1 : 0)
