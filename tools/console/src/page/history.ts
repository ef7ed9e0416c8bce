/** The samples of the last minutes, and the lines of charts that are made from them. */
import { plural } from '../plural.ts'
import type { Figures, Kind, Overview, Sample, ServiceSample } from '../protocol.ts'

/** Largest number of samples for each service. */
export const MAX_SAMPLES = 300
/** Largest number of figures of patterns in all samples of one service. With many patterns fewer samples are kept. */
const MAX_FIGURES = 90_000
/** Largest number of samples of all services together. With very many services fewer samples are kept for each. */
const MAX_ALL_SAMPLES = 60_000
/** How many of the latest samples keep their calls. */
const RECENT_CALLS = 10
/** If there are no more histories than this, all of them are kept. */
const FEW = 100
/** Largest number of lines in a chart. */
export const MAX_LINES = 6

/** One sample of one service. */
export interface Moment {
  /** Seconds since 1970. */
  readonly at: number
  readonly sample: ServiceSample
  /** The figures of patterns, by kind and pattern. */
  readonly rows: ReadonlyMap<string, Figures>
  /** The sums of all rows. */
  readonly sums: Sums
  /** The sums of all transports' numbers, by their names. */
  readonly gauges: ReadonlyMap<string, number>
}

/** The figures by which the busiest patterns are found. */
interface Sums {
  readonly rate: number
  readonly errors: number
}

/**
 * The recent samples of one service. The sums are updated with each sample, because adding all samples each second
 * would take too long.
 */
export interface History {
  readonly moments: readonly Moment[]
  /** The sums over all samples, for each pattern with any activity. */
  readonly busy: ReadonlyMap<string, Sums>
}

/** An empty history. */
export const NOTHING: History = { moments: [], busy: new Map() }

/** Lines that share their times. */
export interface Lines {
  readonly times: readonly number[]
  readonly lines: readonly Line[]
}

/** One line of a chart. `null`: no value at that time. */
export interface Line {
  readonly label: string
  readonly values: readonly (number | null)[]
  /** The largest of several values stands for all of them, as in the server's record; otherwise their mean does. */
  readonly isWorst?: true
}

/** The key of a pattern within its service. */
export function keyOf(kind: Kind, pattern: string): string {
  return `${kind} ${pattern}`
}

/** The histories after one more sample. */
export function withSample(
  histories: ReadonlyMap<string, History>,
  { at, services }: Sample
): ReadonlyMap<string, History> {
  const next = new Map(histories)
  const told = Object.entries(services)
  const most = Math.max(RECENT_CALLS, Math.floor(MAX_ALL_SAMPLES / Math.max(1, next.size, told.length)))
  for (const [id, sample] of told)
    next.set(id, withMoment(next.get(id) ?? NOTHING, momentOf(at / 1_000, sample), most))
  return next
}

/**
 * The histories without those of services that no longer exist. If there are few histories, all are kept, because a
 * restarting service is missing for a moment.
 */
export function withoutThoseGone(
  histories: ReadonlyMap<string, History>,
  { services }: Overview
): ReadonlyMap<string, History> {
  if (histories.size <= 2 * services.length + FEW) return histories
  const present = new Set(services.map(({ id }) => id))
  return new Map([...histories].filter(([id]) => present.has(id)))
}

function momentOf(at: number, sample: ServiceSample): Moment {
  const gauges = new Map<string, number>()
  for (const transport of sample.transports)
    for (const { name, value } of transport.gauges) gauges.set(name, (gauges.get(name) ?? 0) + value)
  return {
    at,
    sample,
    rows: new Map(sample.rows.map((row) => [keyOf(row.kind, row.pattern), row])),
    sums: {
      rate: sample.rows.reduce((sum, { rate }) => sum + rate, 0),
      errors: sample.rows.reduce((sum, { errors }) => sum + errors, 0)
    },
    gauges
  }
}

function withMoment({ moments, busy }: History, moment: Moment, limit: number): History {
  const most = Math.max(
    2,
    Math.min(MAX_SAMPLES, limit, Math.floor(MAX_FIGURES / Math.max(1, moment.rows.size)))
  )
  const next = new Map(busy)
  addUp(next, moment, 1)
  const surplus = Math.max(0, moments.length + 1 - most)
  for (const old of moments.slice(0, surplus)) addUp(next, old, -1)
  // When the page begins to show a service, the server repeats the last sample with all details.
  const isAgain = moments.at(-1)?.at === moment.at
  const kept = moments.slice(surplus, isAgain ? -1 : undefined)
  // Only the map uses calls, and only the latest ones.
  const aged = kept.at(-RECENT_CALLS)
  if (aged !== undefined && aged.sample.calls.length > 0)
    kept[kept.length - RECENT_CALLS] = { ...aged, sample: { ...aged.sample, calls: [] } }
  return { moments: [...kept, moment], busy: next }
}

/** The largest rounding error in a sum from which all values have been subtracted again. */
const NEXT_TO_NOTHING = 1e-6

function addUp(busy: Map<string, Sums>, { rows }: Moment, sign: 1 | -1): void {
  for (const [key, { rate, errors }] of rows) {
    if (rate === 0 && errors === 0) continue
    const known = busy.get(key) ?? { rate: 0, errors: 0 }
    const sums = { rate: known.rate + sign * rate, errors: known.errors + sign * errors }
    if (sums.rate < NEXT_TO_NOTHING && sums.errors < NEXT_TO_NOTHING) busy.delete(key)
    else busy.set(key, sums)
  }
}

/** One figure of the busiest patterns, and its sum over all other patterns. */
export function linesByPattern({ moments: all, busy }: History, figure: 'rate' | 'errors'): Lines {
  const moments = toldInFull(all)
  const busiest = [...busy]
    .filter(([, sums]) => sums[figure] > NEXT_TO_NOTHING)
    .sort((a, b) => b[1][figure] - a[1][figure])
    .map(([key]) => key)
  const told = busiest.slice(0, MAX_LINES)
  const lines: Line[] = told.map((key) => ({
    label: key.slice(key.indexOf(' ') + 1),
    values: moments.map(({ rows }) => rows.get(key)?.[figure] ?? null)
  }))
  const others = busiest.length - told.length
  if (others > 0) {
    const values = moments.map(({ rows, sums }) =>
      rows.size === 0
        ? null
        : Math.max(
            0,
            told.reduce((left, key) => left - (rows.get(key)?.[figure] ?? 0), sums[figure])
          )
    )
    lines.push({ label: plural(others, 'other'), values })
  }
  return { times: timesOf(moments), lines }
}

/** Figures of one pattern, or of all patterns together. */
export function linesOf(
  { moments: all }: History,
  key: string | undefined,
  figures: readonly (readonly [label: string, figure: keyof Figures])[]
): Lines {
  const moments = key === undefined ? all : toldInFull(all)
  const lines = figures.map(([label, figure]) => ({
    label,
    values: moments.map(({ rows, sample }) => {
      const row = key === undefined ? sample.total : rows.get(key)
      return row?.[figure] ?? null
    }),
    ...((figure === 'p99' || figure === 'inFlight') && { isWorst: true as const })
  }))
  return { times: timesOf(moments), lines }
}

/** Numbers of all transports together. */
export function gaugeLines(
  { moments }: History,
  gauges: readonly (readonly [label: string, name: string])[]
): Lines {
  const lines = gauges.flatMap(([label, name]) => {
    const values = moments.map((moment) => moment.gauges.get(name) ?? null)
    return values.every((value) => value === null) ? [] : [{ label, values }]
  })
  return { times: timesOf(moments), lines }
}

/** The latest consecutive samples with figures of patterns. In earlier samples the page showed another service. */
function toldInFull(moments: readonly Moment[]): readonly Moment[] {
  return moments.slice(1 + moments.findLastIndex(({ sample }) => sample.isBrief))
}

function timesOf(moments: readonly Moment[]): number[] {
  return moments.map(({ at }) => at)
}
