/** What the handlers of a service did between two looks at its figures. */
import type { HandlerFigures } from '@elysia-microservices/transport/kit'

/** What one pattern did between two looks. */
export interface Row {
  readonly kind: HandlerFigures['kind']
  readonly pattern: string
  /** Messages a second. */
  readonly rate: number
  /** Milliseconds; `undefined` if there was no message, as are those below. */
  readonly p50: number | undefined
  readonly p90: number | undefined
  readonly p99: number | undefined
  readonly inFlight: number
  /** Messages a second that ended otherwise than well. */
  readonly errors: number
}

/** What each pattern did between two looks, the busiest first. Figures that have shrunk began anew: their process did. */
export function rowsBetween(
  before: readonly HandlerFigures[],
  now: readonly HandlerFigures[],
  seconds: number
): Row[] {
  const known = new Map(before.map((each) => [`${each.kind} ${each.pattern}`, each]))
  return now
    .map((each) => {
      const earlier = known.get(`${each.kind} ${each.pattern}`)
      const isSame = earlier !== undefined && total(earlier.outcomes) <= total(each.outcomes)
      const old = isSame ? earlier : undefined
      const counts = each.durations.counts.map(
        (count, bucket) => count - (old?.durations.counts[bucket] ?? 0)
      )
      const all = total(each.outcomes) - total(old?.outcomes ?? {})
      const well = (each.outcomes['OK'] ?? 0) - (old?.outcomes['OK'] ?? 0)
      const { bounds } = each.durations
      return {
        kind: each.kind,
        pattern: each.pattern,
        rate: all / seconds,
        p50: percentile(counts, bounds, 0.5),
        p90: percentile(counts, bounds, 0.9),
        p99: percentile(counts, bounds, 0.99),
        inFlight: each.inFlight,
        errors: (all - well) / seconds
      }
    })
    .sort((a, b) => b.rate - a.rate)
}

/** Milliseconds that a share of the messages stayed below, by the buckets: exact to a bucket. */
export function percentile(
  counts: readonly number[],
  bounds: readonly number[],
  share: number
): number | undefined {
  const all = counts.reduce((sum, count) => sum + count, 0)
  if (all <= 0) return undefined
  let below = 0
  for (const [bucket, count] of counts.entries()) {
    const low = bounds[bucket - 1] ?? 0
    // What is longer than the last bound is that long at least.
    const high = bounds[bucket] ?? low
    if (below + count >= all * share && count > 0)
      return (low + ((all * share - below) / count) * (high - low)) * 1_000
    below += count
  }
  return undefined
}

function total(outcomes: Readonly<Record<string, number>>): number {
  return Object.values(outcomes).reduce((sum, count) => sum + count, 0)
}
