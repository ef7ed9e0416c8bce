/** A contest as rows of text, for every kind of report. */
import { targetCalled } from '../peers/targets.ts'
import { figureNames, figures, format, plural, times } from './figures.ts'
import type { ContestResult, TargetResult } from './schema.ts'
import type { Spread } from './statistics.ts'

export const header: readonly string[] = ['', ...figureNames.map((figure) => figures[figure].title), 'errors']

/** Medians, one row for each target. */
export const medianRows = ({ results }: ContestResult): string[][] =>
  results.map(({ target, figures: known, errors }) => [
    target,
    ...figureNames.map((figure) => format(figure, known[figure]?.median)),
    errors.toLocaleString('en')
  ])

/** The lowest and the highest of all runs. */
export const rangeRows = ({ results }: ContestResult): string[][] =>
  results
    .filter(({ figures: { rps } }) => rps !== null)
    .map(({ target, figures: known }) => [
      target,
      ...figureNames.map((figure) => {
        const range = known[figure]
        return range === null ? '–' : `${format(figure, range.min)}–${format(figure, range.max)}`
      }),
      ''
    ])

/** Ratios, three rows for each target that has any. */
export const ratioRows = ({ results }: ContestResult): string[][] => results.flatMap(ratiosOf)

function ratiosOf({ target, ratio, ratioTo }: TargetResult): string[][] {
  if (ratio === null || ratio.rps === null) return []
  const row = (title: string, value: keyof Spread) => [
    title,
    ...figureNames.map((figure) => times(ratio[figure]?.[value])),
    ''
  ]
  return [row(`${target} ÷ ${ratioTo}`, 'median'), row('  lowest', 'min'), row('  highest', 'max')]
}

/** Who won, where the base is ahead, and what was not measured: none of it may go unsaid. */
export const remarksOn = ({ verdicts, results }: ContestResult): string[] => [
  ...verdicts.slice(0, 1).flatMap(({ reason, runs }) => [reason, ...winsOf(runs)]),
  ...results.flatMap(remarksOnTarget),
  ...results
    .filter(({ target }) => targetCalled(target)?.isLimit === true)
    .map(({ target }) => `${target} is no peer but the limit, and is not ranked.`)
]

/** Who was best how often. */
function winsOf(runs: readonly (string | null)[]): string[] {
  const names = [...new Set(runs.filter((name) => name !== null))]
  if (names.length === 0 || runs.length < 2) return []
  const wins = names.map((name) => `${name} ${runs.filter((winner) => winner === name).length}`)
  return [`Best of a run, of ${runs.length}: ${wins.join(', ')}.`]
}

function remarksOnTarget(result: TargetResult): string[] {
  const { target, figures: known, ratio, ratioTo, baseAhead, notMeasured, reason } = result
  const lines: string[] = []
  if (ratio !== null && ratio.rps !== null) {
    const ahead = baseAhead.map((figure) => figures[figure].title).join(', ')
    lines.push(`${ratioTo} is ahead of ${target} in ${ahead || 'nothing'}.`)
  }
  if (notMeasured > 0) {
    const runs = known.rps === null ? '' : ` in ${plural(notMeasured, 'run')}`
    lines.push(`${target} was not measured${runs}: ${reason}`)
  }
  return lines
}
