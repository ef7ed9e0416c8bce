/** The results of a comparison: measurements in rounds, and the medians, ratios and verdicts of each contest. */
import { isOurs, LABEL } from '../peers/targets.ts'
import { taskOf } from '../task/task.ts'
import { comparedFiguresOf, type Figure, figureNames, figures, figuresOf, titleOfFigure } from './figures.ts'
import { baseFor, isElseIn, isLimitIn } from './roles.ts'
import type {
  Comparison,
  Contest,
  ContestResult,
  FigureSpreads,
  Measurement,
  NotMeasured,
  TargetResult
} from './schema.ts'
import { spread } from './statistics.ts'
import { judge } from './verdict.ts'

export type Outcome = Measurement | NotMeasured

/** One outcome for each target, in the order of the targets, measured directly one after the other. */
export type Round = readonly Outcome[]

export const isMeasured = (outcome: Outcome): outcome is Measurement => !('notMeasured' in outcome)

export function summarize(contest: Contest, rounds: readonly Round[]): ContestResult {
  const targets = (rounds[0] ?? []).map(({ target }) => target)
  const results = targets.map((target, index) => {
    const base = baseFor(contest, target, targets)
    return summarizeTarget(contest, rounds, index, base === undefined ? undefined : targets.indexOf(base))
  })
  const unranked =
    taskOf(contest).mode === 'suite' ? targets.filter((name) => isElseIn(contest, name)) : variantsIn(targets)
  return {
    ...contest,
    rounds: rounds.map((round) => [...round]),
    results,
    verdicts: verdictsOn(contest, rounds, unranked)
  }
}

/** The figures by which a contest is judged; the first one decides who is ahead. */
export function decisiveFigures(contest: Pick<Contest, 'rate' | 'sloMs' | 'task'>): Figure[] {
  const { rate, sloMs } = contest
  const task = taskOf(contest)
  if (task.mode === 'start') return ['p50', 'listenMs', 'rssIdle']
  // A page that does not read: the cost for the server is compared.
  if (task.mode === 'suite' && task.suite === 'web')
    return task.workload === 'still' ? ['rssPeak'] : ['rps', 'p99', 'serverCpuUsPerRequest']
  if (task.mode === 'suite') return ['rps', 'p99', 'serverCpuUsPerRequest', 'serverRssMb']
  // A reader that waits reads at its own speed: the memory in between is compared.
  if (task.mode === 'stream' && task.pause > 0) return ['rssPeak', 'clientRssPeak']
  if (task.mode === 'durable') return [...figuresOf({ task })]
  if (task.mode !== 'request') return ['rps', 'p99', 'serverCpuUsPerRequest', 'rssPeak', 'clientRssPeak']
  const others = ['p99', 'serverCpuUsPerRequest', 'serverRssMb'] as const
  // At a fixed rate, all targets answer the same number; at the highest rate, the p99 is given.
  if (sloMs !== null) return ['rps', 'serverCpuUsPerRequest', 'serverRssMb']
  return rate === null ? ['rps', ...others] : [...others]
}

/**
 * Targets that are variants of this project's target, with another codec or protocol: they are not rivals, and only
 * listed besides the ranking.
 */
export function variantsIn(names: readonly string[]): string[] {
  const targetOf = (name: string) => name.split(LABEL)[0]
  const ours = names.filter(isOurs)
  return ours.filter((name, index) => ours.findIndex((other) => targetOf(other) === targetOf(name)) < index)
}

/** @param unranked the names of further targets that are not ranked, besides the limit of all */
export function verdictsOn(contest: Contest, rounds: readonly Round[], unranked: readonly string[] = []) {
  const ranked = (rounds[0] ?? [])
    .map(({ target }, index) => ({ target, index }))
    // The limit of all is not a peer, and is not ranked.
    .filter(({ target }) => !isLimitIn(contest, target) && !unranked.includes(target))
  return decisiveFigures(contest).map((figure) =>
    judge(
      figure,
      ranked.map(({ target, index }) => ({
        name: target,
        values: rounds.map((round) => figureOf(round[index]!, figure)),
        errors: rounds.reduce((sum, round) => sum + errorsOf(round[index]!), 0)
      })),
      titleOfFigure(figure, contest)
    )
  )
}

/** Whether every measurement that is possible was made without errors. */
export function isClean({ contests }: Pick<Comparison, 'contests'>): boolean {
  return contests.every(({ results }) =>
    results.every(
      ({ errors, missing, figures: { lost } }) => errors === 0 && missing === 0 && (lost?.max ?? 0) === 0
    )
  )
}

/** Whether every measurement that is possible was made, with or without errors. */
export function isComplete({ contests }: Pick<Comparison, 'contests'>): boolean {
  return contests.every(({ results }) => results.every(({ missing }) => missing === 0))
}

function summarizeTarget(
  contest: Contest,
  rounds: readonly Round[],
  index: number,
  base: number | undefined
): TargetResult {
  const outcomes = rounds.map((round) => round[index]!)
  const measured = outcomes.filter(isMeasured)
  const others = outcomes.filter((outcome): outcome is NotMeasured => !isMeasured(outcome))
  const [first] = measured
  const ratio =
    base === undefined
      ? null
      : spreads((figure) =>
          rounds.map((round) => quotient(figureOf(round[index]!, figure), figureOf(round[base]!, figure)))
        )
  return {
    target: outcomes[0]!.target,
    figures: spreads((figure) => measured.map((measurement) => measurement[figure] ?? null)),
    ratioTo: base === undefined ? null : rounds[0]![base]!.target,
    ratio,
    baseAhead: behindIn(ratio, comparedFiguresOf(contest)),
    runs: measured.length,
    seconds: first?.duration ?? null,
    client: first?.client ?? null,
    errors: measured.reduce((total, { errors }) => total + errors, 0),
    firstError: measured.find(({ firstError }) => firstError !== null)?.firstError ?? null,
    told: measured.find(({ told }) => told != null)?.told ?? null,
    notMeasured: others.length,
    missing: others.filter(({ failed }) => failed).length,
    reason: (others.find(({ failed }) => failed) ?? others[0])?.notMeasured ?? null
  }
}

/** The figures in which the median ratio is worse than 1. */
export function behindIn(ratio: FigureSpreads | null, of: readonly Figure[]): Figure[] {
  return of.filter((figure) => {
    const median = ratio?.[figure]?.median ?? 1
    return figures[figure].better === 'higher' ? median < 1 : median > 1
  })
}

const figureOf = (outcome: Outcome, figure: Figure): number | null =>
  isMeasured(outcome) ? (outcome[figure] ?? null) : null

/** The number of errors; a loss without an error also counts as one. */
const errorsOf = (outcome: Outcome): number =>
  isMeasured(outcome) ? outcome.errors + (outcome.lost ?? 0) : 0

function spreads(values: (figure: Figure) => readonly (number | null)[]): FigureSpreads {
  const entries = figureNames.map((figure) => {
    const known = values(figure).filter((value) => value !== null)
    return [figure, spread(known)]
  })
  return Object.fromEntries(entries) as FigureSpreads
}

const quotient = (a: number | null, b: number | null): number | null =>
  a === null || b === null || b === 0 ? null : a / b
