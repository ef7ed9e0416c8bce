/** The verdict on a figure: which target is ahead, in each run and overall, with the reason as a sentence. */
import { type Figure, figures, format, plural } from './figures.ts'
import type { Verdict } from './schema.ts'
import { type Spread, spread } from './statistics.ts'

export interface Contender {
  readonly name: string
  /** One value for each run; `null`: not known. */
  readonly values: readonly (number | null)[]
  readonly errors: number
}

interface Standing {
  readonly name: string
  readonly spread: Spread
  readonly runs: number
}

/**
 * The winner is the target whose worst run is better than the best run of every other target. A smaller difference
 * could be chance, and then there is no winner. A target with errors has not done its work, and cannot win.
 *
 * @param title the name of the figure in the contest
 */
export function judge(
  figure: Figure,
  contenders: readonly Contender[],
  title: string = figures[figure].title
): Verdict {
  const isBetter = (a: number, b: number) => (figures[figure].better === 'higher' ? a > b : a < b)
  const clean = contenders.filter(({ errors }) => errors === 0)
  const standings = clean
    .flatMap(({ name, values }): Standing[] => {
      const known = values.filter((value) => value !== null)
      const range = spread(known)
      return range === null ? [] : [{ name, spread: range, runs: known.length }]
    })
    .sort((a, b) => (isBetter(a.spread.median, b.spread.median) ? -1 : 1))
  const runs = Array.from({ length: contenders[0]?.values.length ?? 0 }, (_, run) =>
    bestOf(run, clean, isBetter)
  )
  return { figure, runs, ...overall(figure, title, standings, contenders, isBetter) }
}

type IsBetter = (a: number, b: number) => boolean

/** The best target of a run; nobody if two are equal. */
function bestOf(run: number, contenders: readonly Contender[], isBetter: IsBetter): string | null {
  const known = contenders.flatMap(({ name, values }) => {
    const value = values[run] ?? null
    return value === null ? [] : [{ name, value }]
  })
  return (
    known.find(({ value }) => known.filter((other) => !isBetter(value, other.value)).length === 1)?.name ??
    null
  )
}

function overall(
  figure: Figure,
  title: string,
  standings: readonly Standing[],
  contenders: readonly Contender[],
  isBetter: IsBetter
): Pick<Verdict, 'winner' | 'reason'> {
  const failed = contenders.filter(({ errors }) => errors > 0).map(({ name }) => name)
  const aside = failed.length === 0 ? '' : ` ${failed.join(', ')} had errors or losses and cannot win.`
  const none = (reason: string) => ({
    winner: null,
    reason: `No clear winner in ${title}: ${reason}.${aside}`
  })
  const [first, ...others] = standings
  if (first === undefined) return none('nobody was measured')
  if (others.length === 0) return none(`there is nobody to compare ${first.name} with`)
  const rivals = others.map((other) => ({
    name: other.name,
    best: bestEnd(figure, other.spread),
    runs: other.runs
  }))
  const rival = rivals.reduce((best, other) => (isBetter(other.best, best.best) ? other : best))
  if (Math.min(first.runs, ...rivals.map(({ runs }) => runs)) < 2) {
    return none(`one run has no spread to judge by (${first.name} was ahead in it)`)
  }
  const worst = worstEnd(figure, first.spread)
  if (!isBetter(worst, rival.best)) {
    const better = figures[figure].better === 'higher' ? 'up to' : 'down to'
    return none(
      `the runs overlap, ${first.name} has ${format(figure, worst)} in its worst and ${rival.name} gets ${better} ${format(figure, rival.best)}`
    )
  }
  return {
    winner: first.name,
    reason: `${first.name} is ahead in ${title}: the worst of its ${plural(first.runs, 'run')}, ${format(figure, worst)}, is better than the best of anybody else, ${format(figure, rival.best)} of ${rival.name}.${aside}`
  }
}

const bestEnd = (figure: Figure, { min, max }: Spread) => (figures[figure].better === 'higher' ? max : min)
const worstEnd = (figure: Figure, { min, max }: Spread) => (figures[figure].better === 'higher' ? min : max)
