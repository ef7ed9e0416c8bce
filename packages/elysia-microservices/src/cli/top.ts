/** `top`: what a service does, by pattern, drawn again and again. */
import { setTimeout as pause } from 'node:timers/promises'
import type { HandlerFigures } from '@elysia-microservices/transport/kit'
import type { UntypedClient } from '../client/client-types.ts'
import type { Arguments } from './arguments.ts'
import { askDescription, type Described } from './described.ts'
import { EXIT } from './exit-codes.ts'
import { type Output, plainText, table, valueText } from './output.ts'

/** Clears a terminal, and goes to its top. */
const CLEAR = '\u001b[2J\u001b[H'

/** What one pattern did between two looks. */
export interface Row {
  readonly pattern: string
  /** Messages a second. */
  readonly rate: number
  /** Milliseconds; `undefined` if there was no message. */
  readonly p50: number | undefined
  readonly p99: number | undefined
  readonly inFlight: number
  /** Messages a second that ended otherwise than well. */
  readonly errors: number
}

/** Draws until `--count` is reached, or somebody ends it. */
export async function top(client: UntypedClient, args: Arguments, output: Output): Promise<number> {
  let before = await askDescription(client, args, true)
  let seen = performance.now()
  for (let n = 0; n < args.count; n++) {
    await pause(args.interval)
    const now = await askDescription(client, args, true)
    const seconds = (performance.now() - seen) / 1_000
    const rows = rowsBetween(before.figures ?? [], now.figures ?? [], seconds)
    if (output.json) output.out(valueText({ status: now.status, transports: now.transports, rows }, true))
    else output.out((output.isTerminal ? CLEAR : '') + screen(now, rows))
    before = now
    seen = performance.now()
  }
  return EXIT.ok
}

/** What each pattern did between two looks, the busiest first. */
export function rowsBetween(
  before: readonly HandlerFigures[],
  now: readonly HandlerFigures[],
  seconds: number
): Row[] {
  const known = new Map(before.map((each) => [`${each.kind} ${each.pattern}`, each]))
  return now
    .map((each) => {
      const old = known.get(`${each.kind} ${each.pattern}`)
      const counts = each.durations.counts.map(
        (count, bucket) => count - (old?.durations.counts[bucket] ?? 0)
      )
      const all = total(each.outcomes) - total(old?.outcomes ?? {})
      const well = (each.outcomes['OK'] ?? 0) - (old?.outcomes['OK'] ?? 0)
      return {
        pattern: each.pattern,
        rate: all / seconds,
        p50: percentile(counts, each.durations.bounds, 0.5),
        p99: percentile(counts, each.durations.bounds, 0.99),
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

function screen({ name, status, transports, figures }: Described, rows: readonly Row[]): string {
  const inFlight = transports.map(
    ({ transport, inFlight }) => `${transport} ${Number(Object(inFlight).current)}`
  )
  const title = plainText(`${name}, ${status}; in flight: ${inFlight.join(', ')}`)
  if (figures === undefined)
    return `${title}\nNothing is counted by pattern: the service needs .use(telemetry())`
  return `${title}\n${table(
    ['pattern', 'req/s', 'p50 ms', 'p99 ms', 'in flight', 'errors/s'],
    rows.map((row) => [
      row.pattern,
      round(row.rate),
      ms(row.p50),
      ms(row.p99),
      row.inFlight,
      round(row.errors)
    ])
  )}`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

function ms(value: number | undefined): string {
  return value === undefined ? '-' : value.toPrecision(3)
}
