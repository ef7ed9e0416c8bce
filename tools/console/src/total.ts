/** Adds up the figures of all patterns of a service between two samples. */
import type { DurationBuckets, HandlerFigures } from '@elysia-microservices/transport/kit'
import { type Row, rowsBetween } from 'elysia-microservices/kit'

/**
 * Adds up requests and events. Latencies include requests only, because somebody waits for these.
 * @param rows the activity of each pattern
 */
export function totalBetween(
  before: readonly HandlerFigures[],
  now: readonly HandlerFigures[],
  rows: readonly Row[]
): Omit<Row, 'kind' | 'pattern'> {
  const [times] = rowsBetween([requestsOf(before)], [requestsOf(now)], 1)
  const sum = (figure: 'rate' | 'errors' | 'failures' | 'inFlight') =>
    rows.reduce((all, row) => all + row[figure], 0)
  const { p50, p90, p99, lifetime } = times as Row
  return {
    ...{ p50, p90, p99, lifetime },
    rate: sum('rate'),
    errors: sum('errors'),
    failures: sum('failures'),
    inFlight: sum('inFlight')
  }
}

/** The durations of all requests, combined as if they belonged to one pattern. */
function requestsOf(figures: readonly HandlerFigures[]): HandlerFigures {
  const requests = figures.filter(({ kind }) => kind === 'message')
  const lifetimes = requests.flatMap((each) => each.lifetimes ?? [])
  const all = added(requests.map(({ durations }) => durations))
  return {
    kind: 'message',
    pattern: '',
    inFlight: 0,
    // These counts show whether figures have become smaller because the process has restarted.
    outcomes: { OK: all.counts.reduce((sum, count) => sum + count, 0) },
    durations: all,
    ...(lifetimes.length > 0 && { lifetimes: added(lifetimes) })
  }
}

/** Adds buckets. Those with other bounds than the first cannot be added, and are left out. */
function added(buckets: readonly DurationBuckets[]): DurationBuckets {
  const bounds = buckets[0]?.bounds ?? []
  const same = buckets.filter((each) => isSame(each.bounds, bounds))
  const counts = [...bounds, 0].map((_, bucket) =>
    same.reduce((sum, each) => sum + (each.counts[bucket] ?? 0), 0)
  )
  return { bounds, counts }
}

function isSame(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((bound, index) => bound === b[index])
}
