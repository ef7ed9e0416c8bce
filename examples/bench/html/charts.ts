/** The charts of a report: which figures each shows. `draw.ts` draws them. */
import { mergeHistograms, percentileCurve } from '../load/histogram.ts'
import { decisiveFigures, isMeasured } from '../report/comparison.ts'
import { type Figure, figures, titleOfFigure } from '../report/figures.ts'
import type { ContestResult } from '../report/schema.ts'
import { type Mode, taskOf } from '../task/task.ts'
import { type Bar, type Curve, drawBars, drawCurves, type Series } from './draw.ts'

export interface Chart {
  readonly title: string
  /** How the chart is to be read. */
  readonly caption: string
  /** The series in the chart; targets that were not measured are left out. */
  readonly series: readonly Series[]
  /** Whether the chart needs a legend: bars have their names beside them. */
  readonly lines: boolean
  readonly svg: string
}

/** Figures that charts of suites show besides the deciding one; curves of latency would be too many. */
const BESIDE: Readonly<Partial<Record<Mode, readonly Figure[]>>> = { suite: ['successRate'] }

/** The deciding figures of a contest as bars, and the latencies of all requests if the single runs are known. */
export function chartsOf(contest: ContestResult, series: readonly Series[]): Chart[] {
  const { mode } = taskOf(contest)
  const shown = [...decisiveFigures(contest), ...(BESIDE[mode] ?? [])]
  const bars = shown.map((figure) => barChart(contest, series, figure))
  const charts = mode === 'suite' ? bars : [...bars, latencyChart(contest, series)]
  return charts.filter((chart) => chart.series.length > 0)
}

/** Bars of medians, with a whisker from the lowest to the highest run. */
export function barChart(contest: ContestResult, all: readonly Series[], figure: Figure): Chart {
  const runs = (target: string) =>
    contest.rounds.flat().flatMap((outcome) => {
      const value = isMeasured(outcome) && outcome.target === target ? outcome[figure] : null
      return value == null ? [] : [value]
    })
  const bars = contest.results.flatMap(({ target, figures: known }): Bar[] => {
    const range = known[figure]
    const series = all.find(({ name }) => name === target)
    return range == null || series === undefined ? [] : [{ series, ...range, runs: runs(target) }]
  })
  return {
    title: titleOfFigure(figure, contest),
    caption: `Medians; the line goes from the lowest to the highest run. ${figures[figure].better === 'higher' ? 'Higher' : 'Lower'} is better.`,
    series: bars.map(({ series }) => series),
    lines: false,
    svg: bars.length === 0 ? '' : drawBars(bars)
  }
}

/** Labels of the axis: 0 %, 90 %, 99 %… in equal steps, as in HDR histograms. */
const PERCENTS = ['0%', '90%', '99%', '99.9%', '99.99%', '99.999%', '99.9999%']

/** The latency of all runs together, at every percentile. */
export function latencyChart({ rounds }: ContestResult, all: readonly Series[]): Chart {
  const curves = all.flatMap((series): Curve[] => {
    const runs = rounds
      .flat()
      .filter(isMeasured)
      .filter(({ target }) => target === series.name)
    const histogram = mergeHistograms(runs.map(({ latencyHistogram }) => latencyHistogram))
    // Zero has no logarithm, so a small value replaces it.
    const points = percentileCurve(histogram).map(({ oneIn, milliseconds }) => ({
      x: oneIn,
      y: Math.max(milliseconds, 0.001)
    }))
    return points.length === 0 ? [] : [{ series, points }]
  })
  const longest = Math.max(10, ...curves.flatMap(({ points }) => points.map(({ x }) => x)))
  const ticks = PERCENTS.map((label, power) => [10 ** power, label] as const).filter(([x]) => x <= longest)
  return curvesChart(
    curves,
    ticks,
    'Latency by percentile',
    'Milliseconds that so many stay under. Lower is better.'
  )
}

/** Requests per second by the number of requests at a time. */
export function concurrencyChart(
  family: readonly ContestResult[],
  title: string,
  all: readonly Series[]
): Chart {
  const curves = all.map((series): Curve => {
    const points = family.flatMap(({ concurrency, results }) => {
      const rps = results.find(({ target }) => target === series.name)?.figures.rps?.median ?? 0
      // Zero has no logarithm.
      return rps > 0 ? [{ x: concurrency, y: rps }] : []
    })
    return { series, points }
  })
  // A curve needs more than one point.
  const drawn = curves.filter(({ points }) => points.length > 1)
  const ticks = family.map(({ concurrency }) => [concurrency, concurrency.toLocaleString('en')] as const)
  return curvesChart(drawn, ticks, title, 'Req/s by requests at a time, medians. Higher is better.')
}

const curvesChart = (
  curves: readonly Curve[],
  ticks: Parameters<typeof drawCurves>[1],
  title: string,
  caption: string
): Chart => ({
  title,
  caption,
  series: curves.map(({ series }) => series),
  lines: true,
  svg: curves.length === 0 ? '' : drawCurves(curves, ticks)
})
