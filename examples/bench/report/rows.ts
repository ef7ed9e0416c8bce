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

/** The figures of a contest, between the names and how often it was measured. */
export const headerOf = (contest: ContestResult): string[] => [
  '',
  ...figuresOf(contest).map((figure) => titleOfFigure(figure, contest)),
  'errors',
  'runs'
]

/** Medians, one row for each target. */
export const medianRows = (contest: ContestResult): string[][] =>
  contest.results.map((result) => [
    result.target,
    ...figuresOf(contest).map((figure) => format(figure, result.figures[figure]?.median)),
    result.errors.toLocaleString('en'),
    runsOf(result)
  ])

/** How often and how long it was measured: `5 × 5 s`. */
export const runsOf = ({ runs, seconds }: TargetResult): string =>
  runs === 0 ? '–' : `${runs} × ${seconds} s`

/** The lowest and the highest of all runs. */
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

/** Ratios, three rows for each target that has any. */
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

/** Remarks on a contest: the winner, who is ahead in what, and what was not measured. None of it may be left out. */
export function remarksOn(contest: ContestResult): string[] {
  const { verdicts, results } = contest
  return [
    ...verdicts.slice(0, 1).flatMap(({ reason, runs }) => [reason, ...winsOf(runs)]),
    ...results.filter(isInteresting(contest)).flatMap((result) => whereBehind(result, contest)),
    // Among so many the table says it better.
    ...(isSuite(contest) ? whatTheyWereTold(contest) : aheadOfOurs(contest)),
    ...notMeasured(results),
    ...results
      .filter(({ target }) => isLimitIn(contest, target))
      .map(({ target }) => `${target} is no peer but the limit, and is not ranked.`)
  ]
}

const isSuite = (contest: { readonly task?: Task | undefined }): boolean => taskOf(contest).mode === 'suite'

/** In whose words callers were sent away, or learned that something failed. */
const whatTheyWereTold = ({ results }: ContestResult): string[] =>
  results.flatMap(({ target, told, firstError }) => [
    ...(told === null ? [] : [`${target} tells those that it refuses: ${told}`]),
    ...(firstError === null ? [] : [`${target} failed: ${firstError}`])
  ])

/** The winners, with how many runs each has won. */
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

/** Among many, where the base is ahead of us is what one wants to know; the others' ratios are in the table. */
const isInteresting = (contest: ContestResult) => {
  const { results } = contest
  const ours = results.filter(({ target }) => isOursIn(contest, target))
  return (result: TargetResult) => results.length <= 3 || ours.length === 0 || ours.includes(result)
}

function whereBehind({ target, ratio, ratioTo, baseAhead }: TargetResult, contest: ContestResult): string[] {
  if (ratio === null || comparedFiguresOf(contest).every((figure) => ratio[figure] == null)) return []
  // At a rate that is given nobody answers more than that.
  const comparable = baseAhead.filter((figure) => contest.rate === null || figure !== 'rps')
  const ahead = comparable.map((figure) => titleOfFigure(figure, contest)).join(', ')
  return [`${ratioTo} is ahead of ${target} in ${ahead || 'nothing'}.`]
}

/** The others whose medians are better than ours, beside the base of which it is said anyway. */
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

/** Those with the same reason in one line. */
function notMeasured(results: readonly TargetResult[]): string[] {
  const lines = new Map<string, string[]>()
  for (const { target, runs, notMeasured, reason } of results) {
    if (notMeasured === 0) continue
    const why = `not measured${runs === 0 ? '' : ` in ${plural(notMeasured, 'run')}`}: ${reason}`
    lines.set(why, [...(lines.get(why) ?? []), target])
  }
  return [...lines].map(([why, names]) => `${names.join(', ')} ${names.length > 1 ? 'were' : 'was'} ${why}`)
}
