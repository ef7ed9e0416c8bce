/** The charts of a report as data: what is drawn of which figures. Drawing is `chart.ts`'s. */
import { mergeHistograms, percentileCurve } from '../load/histogram.ts'
import { isMeasured } from '../report/comparison.ts'
import { type Figure, titleOfFigure } from '../report/figures.ts'
import type { ContestResult } from '../report/schema.ts'
import type { Spec } from './chart.ts'
import { colourScale, dashScale, type Series } from './series.ts'

export interface Chart {
  readonly title: string
  /** How it is to be read. */
  readonly caption: string
  /** The series it has; whoever was not measured is not in it. */
  readonly series: readonly Series[]
  /** Whether it needs a legend: bars carry their names. */
  readonly lines: boolean
  readonly spec: Spec
}

const BAR = 24
/** More lines than this need a higher chart. */
const CROWD = 6

/** Bars of medians with a whisker from the lowest to the highest run and a dot for each. */
export function barChart(
  contest: ContestResult,
  all: readonly Series[],
  { figure, title, caption }: { figure: Figure; title: string; caption: string }
): Chart {
  const bars = contest.results.flatMap(({ target, figures: known }) => {
    const range = known[figure]
    return range == null ? [] : [{ target, ...range }]
  })
  const series = all.filter(({ name }) => bars.some(({ target }) => target === name))
  const axis = { title: titleOfFigure(figure, contest), format: '~s', tickCount: 5 }
  const runs = contest.rounds.flat().flatMap((outcome) => {
    const value = isMeasured(outcome) ? outcome[figure] : null
    return value == null ? [] : [{ target: outcome.target, value }]
  })
  return {
    title,
    caption,
    series,
    lines: false,
    spec: {
      height: BAR * series.length,
      data: { values: bars },
      encoding: { y: rowsOf(series) },
      layer: [
        {
          mark: { type: 'bar' },
          encoding: {
            x: { field: 'median', type: 'quantitative', scale: { zero: true }, axis },
            color: { field: 'target', type: 'nominal', scale: colourScale(series), legend: null }
          }
        },
        {
          mark: { type: 'rule', stroke: 'var(--ink)', strokeWidth: 1.5 },
          encoding: { x: { field: 'min', type: 'quantitative' }, x2: { field: 'max' } }
        },
        {
          data: { values: runs },
          mark: { type: 'point', filled: true, size: 14, fill: 'var(--ink)', opacity: 1 },
          encoding: { x: { field: 'value', type: 'quantitative' } }
        }
      ]
    }
  }
}

/** 0 %, 90 %, 99 %… in equal steps: the axis of HDR histograms. */
const PERCENT_LABELS =
  "datum.value == 1 ? '0%' : datum.value == 10 ? '90%' : format(1 - 1 / datum.value, '~%')"

/** The latency of all runs together at every percentile. */
export function latencyChart(
  contest: ContestResult,
  all: readonly Series[],
  { title, caption }: { readonly title: string; readonly caption: string }
): Chart {
  const curves = all.map(({ name }) => {
    const runs = contest.rounds.flat().filter((outcome) => isMeasured(outcome) && outcome.target === name)
    const histogram = mergeHistograms(runs.map((run) => (isMeasured(run) ? run.latencyHistogram : null)))
    return percentileCurve(histogram).map(({ oneIn, milliseconds }) => ({
      target: name,
      oneIn,
      // A logarithm needs more than nothing.
      milliseconds: Math.max(milliseconds, 0.001)
    }))
  })
  const series = all.filter((_, index) => curves[index]!.length > 0)
  const longest = Math.max(10, ...curves.flat().map(({ oneIn }) => oneIn))
  const decades = Array.from({ length: Math.ceil(Math.log10(longest)) + 1 }, (_, index) => 10 ** index)
  return {
    title,
    caption,
    series,
    lines: true,
    spec: {
      height: series.length > CROWD ? 280 : 190,
      data: { values: curves.flat() },
      mark: { type: 'line', strokeWidth: 2 },
      encoding: {
        x: {
          field: 'oneIn',
          type: 'quantitative',
          scale: { type: 'log', domain: [1, longest], nice: false },
          axis: { title: 'of requests', values: decades, labelExpr: PERCENT_LABELS }
        },
        y: {
          field: 'milliseconds',
          type: 'quantitative',
          scale: { type: 'log' },
          axis: { title: 'ms', format: '~g', values: decadesOf(curves.flat().map((one) => one.milliseconds)) }
        },
        ...lookOf(series)
      }
    }
  }
}

/** Req/s against requests at a time, with a band from the lowest to the highest run. */
export function concurrencyChart(
  family: readonly ContestResult[],
  title: string,
  all: readonly Series[]
): Chart {
  const points = family.flatMap(({ concurrency, results }) =>
    results.flatMap(({ target, figures: { rps } }) =>
      // A logarithm needs more than nothing.
      rps === null || rps.min <= 0 ? [] : [{ target, concurrency, ...rps }]
    )
  )
  // One point is no curve.
  const series = all.filter(({ name }) => points.filter(({ target }) => target === name).length > 1)
  const curves = points.filter(({ target }) => series.some(({ name }) => name === target))
  const x = {
    field: 'concurrency',
    type: 'quantitative',
    scale: { type: 'log', nice: false },
    axis: { title: 'requests at a time', values: family.map(({ concurrency }) => concurrency), format: '~s' }
  } as const
  const y = {
    type: 'quantitative',
    // So that who is a hundred times faster does not make all others a line at the bottom.
    scale: { type: 'log' },
    axis: { title: 'req/s', format: '~s', values: decadesOf(curves.flatMap(({ min, max }) => [min, max])) }
  } as const
  return {
    title,
    caption: 'Medians; the bands go from the lowest to the highest run. Higher is better.',
    series,
    lines: true,
    spec: {
      height: 190,
      data: { values: curves },
      encoding: { x },
      layer: [
        {
          mark: { type: 'area', opacity: 0.2 },
          encoding: {
            y: { ...y, field: 'min' },
            y2: { field: 'max' },
            color: { field: 'target', type: 'nominal', scale: colourScale(series), legend: null }
          }
        },
        {
          mark: { type: 'line', strokeWidth: 2, point: true },
          encoding: { y: { ...y, field: 'median' }, ...lookOf(series) }
        }
      ]
    }
  }
}

/** What is marked beside the bar of the loaded server. */
const MEMORY_MARKS = [
  { figure: 'rssIdle', mark: { type: 'point', shape: 'circle', size: 40 } },
  { figure: 'rssAfter', mark: { type: 'point', shape: 'diamond', size: 40 } },
  { figure: 'rssPeak', mark: { type: 'tick', thickness: 2, size: BAR * 0.7 } }
] as const satisfies readonly { figure: Figure; mark: object }[]

/** What the server's process holds before, under, at most, and after the load. */
export function memoryChart(contest: ContestResult, all: readonly Series[]): Chart {
  const medians = (figure: Figure) =>
    contest.results.flatMap(({ target, figures: known }) => {
      const range = known[figure]
      return range == null ? [] : [{ target, megabytes: range.median }]
    })
  const loaded = medians('serverRssMb')
  const series = all.filter(({ name }) => loaded.some(({ target }) => target === name))
  const x = {
    field: 'megabytes',
    type: 'quantitative',
    scale: { zero: true },
    axis: { title: 'MiB', tickCount: 5 }
  } as const
  return {
    title: 'Memory of the server',
    caption: 'MiB in RAM, medians. Bar: under load, ○ before it, ◇ after it, | at most. Lower is better.',
    series,
    lines: false,
    spec: {
      height: BAR * series.length,
      data: { values: loaded },
      encoding: { y: rowsOf(series), x },
      layer: [
        {
          mark: { type: 'bar' },
          encoding: {
            color: { field: 'target', type: 'nominal', scale: colourScale(series), legend: null }
          }
        },
        ...MEMORY_MARKS.map(({ figure, mark }) => ({
          data: { values: medians(figure) },
          mark: { ...mark, stroke: 'var(--ink)', opacity: 1 }
        }))
      ]
    }
  }
}

/** Powers of ten from below the lowest to above the highest: all lines that a logarithmic axis needs. */
function decadesOf(values: readonly number[]): number[] {
  if (values.length === 0) return []
  const lowest = Math.floor(Math.log10(Math.min(...values)))
  const highest = Math.ceil(Math.log10(Math.max(...values)))
  return Array.from({ length: highest - lowest + 1 }, (_, index) => 10 ** (lowest + index))
}

/** A row for each series, under its name. */
const rowsOf = (series: readonly Series[]) =>
  ({
    field: 'target',
    type: 'nominal',
    sort: series.map(({ name }) => name),
    title: null,
    axis: { domain: false, ticks: false }
  }) as const

const lookOf = (series: readonly Series[]) =>
  ({
    color: { field: 'target', type: 'nominal', scale: colourScale(series), legend: null },
    strokeDash: { field: 'target', type: 'nominal', scale: dashScale(series), legend: null }
  }) as const
