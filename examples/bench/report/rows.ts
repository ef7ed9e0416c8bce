/** A contest as rows of text, for every kind of report. */
import { type Task, taskOf } from '../task/task.ts'
import {
  comparedFiguresOf,
  type Figure,
  figures,
  figuresOf,
  format,
  plural,
  times,
  titleOfFigure
} from './figures.ts'
import { isLimitIn, isOursIn } from './roles.ts'
import type { ContestResult, TargetResult } from './schema.ts'
import type { Spread } from './statistics.ts'

/** The names of the columns: the figures of the contest, between the target and the number of runs. */
export const headerOf = (contest: ContestResult): string[] => [
  '',
  ...figuresOf(contest).map((figure) => titleOfFigure(figure, contest)),
  'errors',
  'runs'
]

/** The medians, one row for each target. */
export const medianRows = (contest: ContestResult): string[][] =>
  contest.results.map((result) => [
    result.target,
    ...figuresOf(contest).map((figure) => format(figure, result.figures[figure]?.median)),
    result.errors.toLocaleString('en'),
    runsOf(result)
  ])

/** The number and length of runs: `5 × 5 s`. */
export const runsOf = ({ runs, seconds }: TargetResult): string =>
  runs === 0 ? '–' : `${runs} × ${seconds} s`

/** The lowest and the highest value of all runs. */
export const rangeRows = (contest: ContestResult): string[][] =>
  contest.results
    .filter(({ runs }) => runs > 0)
    .map(({ target, figures: known }) => [
      target,
      ...figuresOf(contest).map((figure) => {
        const range = known[figure]
        return range == null ? '–' : `${format(figure, range.min)}–${format(figure, range.max)}`
      }),
      '',
      ''
    ])

/** The ratios, three rows for each target with ratios. */
export const ratioRows = (contest: ContestResult): string[][] =>
  contest.results.flatMap((result) => ratiosOf(result, contest))

function ratiosOf({ target, ratio, ratioTo }: TargetResult, contest: ContestResult): string[][] {
  const compared = comparedFiguresOf(contest)
  if (ratio === null || compared.every((figure) => ratio[figure] == null)) return []
  const row = (title: string, value: keyof Spread) => [
    title,
    ...figuresOf(contest).map((figure) =>
      times(compared.includes(figure) ? ratio[figure]?.[value] : undefined)
    ),
    '',
    ''
  ]
  return [row(`${target} ÷ ${ratioTo}`, 'median'), row('  lowest', 'min'), row('  highest', 'max')]
}

/**
 * Remarks on a contest: the winner, who is ahead in which figure, and what was not measured. All of them must be
 * shown.
 */
export function remarksOn(contest: ContestResult): string[] {
  const { verdicts, results } = contest
  return [
    ...verdicts.slice(0, 1).flatMap(({ reason, runs }) => [reason, ...winsOf(runs)]),
    ...results.filter(isInteresting(contest)).flatMap((result) => whereBehind(result, contest)),
    // With so many targets, the table is easier to read.
    ...(isSuite(contest) ? whatTheyWereTold(contest) : aheadOfOurs(contest)),
    ...notMeasured(results),
    ...results
      .filter(({ target }) => isLimitIn(contest, target))
      .map(({ target }) => `${target} is no peer but the limit, and is not ranked.`)
  ]
}

const isSuite = (contest: { readonly task?: Task | undefined }): boolean => taskOf(contest).mode === 'suite'

/** The messages with which callers were refused, or got an error. */
const whatTheyWereTold = ({ results }: ContestResult): string[] =>
  results.flatMap(({ target, told, firstError }) => [
    ...(told === null ? [] : [`${target} tells those that it refuses: ${told}`]),
    ...(firstError === null ? [] : [`${target} failed: ${firstError}`])
  ])

/** The winners, with the number of runs that each has won. */
function winsOf(runs: readonly (string | null)[]): string[] {
  const names = [...new Set(runs.filter((name) => name !== null))]
  if (names.length === 0 || runs.length < 2) return []
  const wins = names
    .map((name) => ({ name, count: runs.filter((winner) => winner === name).length }))
    .toSorted((a, b) => b.count - a.count)
  return [
    `Best of a run, of ${runs.length}: ${wins.map(({ name, count }) => `${name} ${count}`).join(', ')}.`
  ]
}

/**
 * With many targets, only those figures are named in which the base is ahead of this project; the table has all other
 * ratios.
 */
const isInteresting = (contest: ContestResult) => {
  const { results } = contest
  const ours = results.filter(({ target }) => isOursIn(contest, target))
  return (result: TargetResult) => results.length <= 3 || ours.length === 0 || ours.includes(result)
}

function whereBehind({ target, ratio, ratioTo, baseAhead }: TargetResult, contest: ContestResult): string[] {
  if (ratio === null || comparedFiguresOf(contest).every((figure) => ratio[figure] == null)) return []
  // At a fixed rate, no target answers more requests.
  const comparable = baseAhead.filter((figure) => contest.rate === null || figure !== 'rps')
  const ahead = comparable.map((figure) => titleOfFigure(figure, contest)).join(', ')
  return [`${ratioTo} is ahead of ${target} in ${ahead || 'nothing'}.`]
}

/** The targets whose medians are better than ours, except the base, which is mentioned anyway. */
function aheadOfOurs(contest: ContestResult): string[] {
  const { results } = contest
  const ours = results.find(({ target }) => isOursIn(contest, target))
  if (ours === undefined) return []
  return results.flatMap(({ target, figures: theirs }) => {
    const isPeer = !isOursIn(contest, target) && target !== ours.ratioTo && !isLimitIn(contest, target)
    const ahead = figuresOf(contest).filter((figure) =>
      isBetter(figure, theirs[figure], ours.figures[figure])
    )
    if (!isPeer || ahead.length === 0) return []
    const titles = ahead.map((figure) => titleOfFigure(figure, contest)).join(', ')
    return [`${target} is ahead of ${ours.target} in ${titles}.`]
  })
}

function isBetter(figure: Figure, a: Spread | null | undefined, b: Spread | null | undefined): boolean {
  if (a == null || b == null) return false
  return figures[figure].better === 'higher' ? a.median > b.median : a.median < b.median
}

/** The targets that could not be measured: one line for each reason. */
function notMeasured(results: readonly TargetResult[]): string[] {
  const lines = new Map<string, string[]>()
  for (const { target, runs, notMeasured, reason } of results) {
    if (notMeasured === 0) continue
    const why = `not measured${runs === 0 ? '' : ` in ${plural(notMeasured, 'run')}`}: ${reason}`
    lines.set(why, [...(lines.get(why) ?? []), target])
  }
  return [...lines].map(([why, names]) => `${names.join(', ')} ${names.length > 1 ? 'were' : 'was'} ${why}`)
}
