/** Whether a figure has dropped more than the spread of its runs can explain. Knows no commit and no server. */
import { type Figure, figures } from '../report/figures.ts'
import { spread } from '../report/statistics.ts'
import { probabilityOfDrop } from './signed-rank.ts'

/** Figures of the two commits, measured one right after the other. */
export interface Pair {
  readonly head: number
  readonly base: number
}

export interface Finding {
  readonly figure: Figure
  /** Head divided by base: of the middle pair, the lowest and the highest. */
  readonly ratio: { readonly median: number; readonly min: number; readonly max: number }
  /** How likely chance makes such pairs of two commits of which one is at most as much worse as is tolerated. */
  readonly probability: number
  readonly failed: boolean
}

export interface Rule {
  /** 0.02: up to 2 % worse is not looked at. Where code lies in memory alone makes about one. */
  readonly tolerance: number
  /** How often all findings together may fail without a reason. */
  readonly falseAlarms: number
  /** Over how many findings that is divided. */
  readonly findings: number
}

/** The limit that the probability must be below. */
export const levelOf = ({ falseAlarms, findings }: Rule): number => falseAlarms / findings

/** The fewest pairs with which a drop can be told from chance at all: that many times the coin falls on one side. */
export const pairsNeeded = (rule: Rule): number => Math.ceil(-Math.log2(levelOf(rule)))

/** `null` where there are no pairs. */
export function decide(figure: Figure, pairs: readonly Pair[], rule: Rule): Finding | null {
  const ratios = pairs.map(({ head, base }) => head / base)
  const ratio = spread(ratios)
  if (ratio === null) return null
  // Above 0 is better than tolerated, whichever way is better.
  const worse = figures[figure].better === 'higher' ? -1 : 1
  const differences = ratios.map((one) => Math.log1p(rule.tolerance) - worse * Math.log(one))
  const probability = probabilityOfDrop(differences)
  return { figure, ratio, probability, failed: probability < levelOf(rule) }
}
