/** Computes the activity of a service's handlers between two samples of their figures. */
import type { DurationBuckets, HandlerFigures } from '@elysia-microservices/transport/kit'

/** Activity of one pattern between two samples. */
export interface Row {
  readonly kind: HandlerFigures['kind']
  readonly pattern: string
  /** Messages a second. */
  readonly rate: number
  /**
   * Milliseconds that half of the messages took at most, without streams; `undefined` if there was no message. The
   * next two fields are the same for 90 and 99 %.
   */
  readonly p50: number | undefined
  readonly p90: number | undefined
  readonly p99: number | undefined
  /** Median lifetime in milliseconds of the streams that have ended; `undefined` if none has ended. */
  readonly lifetime: number | undefined
  readonly inFlight: number
  /**
   * Failed messages a second. A message whose caller has canceled it, such as a reader that leaves a stream, does
   * not count as failed.
   */
  readonly errors: number
  /** The part of `errors`, a second, that nobody has thrown on purpose: unexpected errors and timeouts. */
  readonly failures: number
}

/** The codes of errors that are not thrown on purpose. */
const FAILURES = ['INTERNAL', 'TIMEOUT'] as const

/**
 * The activity of each pattern between two samples, the busiest pattern first. If a figure has become smaller, the
 * process has restarted, so the figure is counted from 0.
 */
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
      const counts = since(old?.durations, each.durations)
      const all = total(each.outcomes) - total(old?.outcomes ?? {})
      const countOf = (code: string) => (each.outcomes[code] ?? 0) - (old?.outcomes[code] ?? 0)
      const { bounds } = each.durations
      return {
        kind: each.kind,
        pattern: each.pattern,
        rate: all / seconds,
        p50: percentile(counts, bounds, 0.5),
        p90: percentile(counts, bounds, 0.9),
        p99: percentile(counts, bounds, 0.99),
        lifetime:
          each.lifetimes && percentile(since(old?.lifetimes, each.lifetimes), each.lifetimes.bounds, 0.5),
        inFlight: each.inFlight,
        errors: (all - countOf('OK') - countOf('CANCELED')) / seconds,
        failures: FAILURES.reduce((sum, code) => sum + countOf(code), 0) / seconds
      }
    })
    .sort((a, b) => b.rate - a.rate)
}

function since(before: DurationBuckets | undefined, { counts }: DurationBuckets): number[] {
  return counts.map((count, bucket) => count - (before?.counts[bucket] ?? 0))
}

/** Milliseconds that a share of the messages took at most, estimated from the histogram's buckets. */
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
    // Times above the last bound count as that bound.
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
