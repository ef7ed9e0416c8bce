/** Decides whether a figure has dropped by more than the spread of its runs explains. */
import { type Figure, figures } from '../report/figures.ts'
import { spread } from '../report/statistics.ts'
import { probabilityOfDrop } from './signed-rank.ts'

/** The figures of both commits, measured directly one after the other. */
export interface Pair {
  readonly head: number
  readonly base: number
}

export interface Finding {
  readonly figure: Figure
  /** Head divided by base: the median of all pairs, the lowest and the highest. */
  readonly ratio: { readonly median: number; readonly min: number; readonly max: number }
  /** The probability that such pairs occur by chance, if head is not worse than tolerated. */
  readonly probability: number
  readonly failed: boolean
}

export interface Rule {
  /**
   * The tolerated drop; 0.02: up to 2 % is ignored. The position of code in memory alone changes results by about 1
   * %.
   */
  readonly tolerance: number
  /** The accepted probability that any finding fails by chance. */
  readonly falseAlarms: number
  /** The number of findings among which this probability is divided. */
  readonly findings: number
}

/** The limit below which the probability of a finding means a drop. */
export const levelOf = ({ falseAlarms, findings }: Rule): number => falseAlarms / findings

/**
 * The fewest pairs with which a drop can be distinguished from chance: as many tosses of a coin with the same result.
 */
export const pairsNeeded = (rule: Rule): number => Math.ceil(-Math.log2(levelOf(rule)))

/** `null`: there are no pairs. */
export function decide(figure: Figure, pairs: readonly Pair[], rule: Rule): Finding | null {
  const ratios = pairs.map(({ head, base }) => head / base)
  const ratio = spread(ratios)
  if (ratio === null) return null
  // Above 0 means better than tolerated, whether higher or lower values are better.
  const worse = figures[figure].better === 'higher' ? -1 : 1
  const differences = ratios.map((one) => Math.log1p(rule.tolerance) - worse * Math.log(one))
  const probability = probabilityOfDrop(differences)
  return { figure, ratio, probability, failed: probability < levelOf(rule) }
}
