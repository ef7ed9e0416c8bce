/** The samples of the last minutes, and the lines that charts draw of them. */
import type { Figures, Kind, Sample, ServiceSample } from '../protocol.ts'

/** Samples that are kept of each service. */
export const MAX_SAMPLES = 300
/** Figures of patterns that are kept of all samples of a service together: with many patterns there are fewer samples. */
const MAX_FIGURES = 90_000
/** Lines of a chart that are told apart. */
export const MAX_LINES = 6

/** What one service did at one time. */
export interface Moment {
  /** Seconds since 1970. */
  readonly at: number
  readonly sample: ServiceSample
  /** By kind and pattern. */
  readonly rows: ReadonlyMap<string, Figures>
}

/** Lines over the same times. */
export interface Lines {
  readonly times: readonly number[]
  readonly lines: readonly Line[]
}

/** One line. `null`: there was nothing to measure. */
export interface Line {
  readonly label: string
  readonly values: readonly (number | null)[]
}

/** The name of a pattern among all of its service. */
export function keyOf(kind: Kind, pattern: string): string {
  return `${kind} ${pattern}`
}

/** What a history is with one more sample. */
export function withSample(
  history: ReadonlyMap<string, readonly Moment[]>,
  { at, services }: Sample
): ReadonlyMap<string, readonly Moment[]> {
  const next = new Map(history)
  for (const [id, sample] of Object.entries(services)) {
    const rows = new Map(sample.rows.map((row) => [keyOf(row.kind, row.pattern), row]))
    const most = Math.max(2, Math.min(MAX_SAMPLES, Math.floor(MAX_FIGURES / Math.max(1, rows.size))))
    next.set(id, [...(next.get(id) ?? []), { at: at / 1_000, sample, rows }].slice(-most))
  }
  return next
}

/** One figure of the busiest patterns, and of all others together. */
export function linesByPattern(moments: readonly Moment[], figure: 'rate' | 'errors'): Lines {
  const sums = new Map<string, number>()
  for (const { rows } of moments)
    for (const [key, row] of rows) if (row[figure] > 0) sums.set(key, (sums.get(key) ?? 0) + row[figure])
  const busiest = [...sums].sort((a, b) => b[1] - a[1]).map(([key]) => key)
  const told = busiest.slice(0, MAX_LINES)
  const lines: Line[] = told.map((key) => ({
    label: key.slice(key.indexOf(' ') + 1),
    values: moments.map(({ rows }) => rows.get(key)?.[figure] ?? null)
  }))
  if (busiest.length > told.length) {
    const others = busiest.slice(MAX_LINES)
    const values = moments.map(({ rows }) =>
      rows.size === 0 ? null : others.reduce((sum, key) => sum + (rows.get(key)?.[figure] ?? 0), 0)
    )
    lines.push({ label: `${others.length} others`, values })
  }
  return { times: timesOf(moments), lines }
}

/** Figures of one pattern, or of all together. */
export function linesOf(
  moments: readonly Moment[],
  key: string | undefined,
  figures: readonly (readonly [label: string, figure: keyof Figures])[]
): Lines {
  const lines = figures.map(([label, figure]) => ({
    label,
    values: moments.map(({ rows, sample }) => {
      const row = key === undefined ? sample.total : rows.get(key)
      return row?.[figure] ?? null
    })
  }))
  return { times: timesOf(moments), lines }
}

/** Numbers of all transports, by their names. */
export function gaugeLines(
  moments: readonly Moment[],
  gauges: readonly (readonly [label: string, name: string])[]
): Lines {
  const lines = gauges.flatMap(([label, name]) => {
    const values = moments.map(({ sample }) => {
      const found = sample.transports.flatMap(({ gauges }) => gauges.filter((gauge) => gauge.name === name))
      return found.length === 0 ? null : found.reduce((sum, { value }) => sum + value, 0)
    })
    return values.every((value) => value === null) ? [] : [{ label, values }]
  })
  return { times: timesOf(moments), lines }
}

function timesOf(moments: readonly Moment[]): number[] {
  return moments.map(({ at }) => at)
}
