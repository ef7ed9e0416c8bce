/** What a comparison found: measurements in rounds, and per contest the medians and ratios made of them. */
import type { ComparisonOptions, ContestClient } from '../options/comparison-options.ts'
import type { TargetName } from '../targets/targets.ts'
import type { Environment } from './environment.ts'
import type { Measurement } from './measurement.ts'
import { type Spread, spread } from './statistics.ts'

/** The figures that are compared, in the order of the table's columns. */
export const figures = {
  rps: { title: 'req/s', digits: 0, better: 'higher' },
  p50: { title: 'p50 ms', digits: 3, better: 'lower' },
  p90: { title: 'p90 ms', digits: 3, better: 'lower' },
  p99: { title: 'p99 ms', digits: 3, better: 'lower' },
  max: { title: 'max ms', digits: 3, better: 'lower' },
  serverCpuUsPerRequest: { title: 'server µs/req', digits: 2, better: 'lower' },
  clientCpuUsPerRequest: { title: 'client µs/req', digits: 2, better: 'lower' },
  serverRssMb: { title: 'server MiB', digits: 1, better: 'lower' },
  rssIdle: { title: 'idle MiB', digits: 1, better: 'lower' },
  rssPeak: { title: 'peak MiB', digits: 1, better: 'lower' },
  rssAfter: { title: 'after MiB', digits: 1, better: 'lower' }
} as const
export type Figure = keyof typeof figures
export const figureNames = Object.keys(figures) as Figure[]

/** A measurement that there is not. */
export interface NotMeasured {
  readonly target: TargetName
  readonly notMeasured: string
  /** `true`: it should have been possible. `false`: this peer cannot do what was asked. */
  readonly failed: boolean
}

export type Outcome = Measurement | NotMeasured

/** One outcome of each target, in the order of the targets, one right after the other. */
export type Round = readonly Outcome[]

/** What is put side by side: the same load on all servers. */
export interface Contest {
  readonly client: ContestClient
  readonly connections: number
}

export type FigureSpreads = Readonly<Record<Figure, Spread | null>>

export interface TargetResult {
  readonly target: TargetName
  readonly figures: FigureSpreads
  /**
   * Its figure divided by the base's, round by round: noise that hits a whole round cancels out. `null` for the base.
   */
  readonly ratio: FigureSpreads | null
  /** The figures in which the base is ahead of it by the median ratio. */
  readonly baseAhead: readonly Figure[]
  readonly errors: number
  /** How many of the rounds have no figures of it, and why the first of them has none. */
  readonly notMeasured: number
  readonly reason: string | null
  /** Whether a measurement failed that should have been possible. */
  readonly failed: boolean
}

export interface ContestResult extends Contest {
  readonly rounds: readonly Round[]
  readonly results: readonly TargetResult[]
}

export interface Comparison {
  readonly startedAt: string
  readonly options: Omit<ComparisonOptions, 'out'>
  /** What the others are compared with. */
  readonly base: TargetName
  /** `null` where nothing could be measured. */
  readonly environment: Environment | null
  readonly contests: readonly ContestResult[]
}

export const isMeasured = (outcome: Outcome): outcome is Measurement => !('notMeasured' in outcome)

/** Everybody is compared with Nest, which is the point of all this; where it is absent, with the first. */
export function baseOf(targets: readonly TargetName[]): TargetName {
  return targets.includes('nest') ? 'nest' : targets[0]!
}

export function summarize(contest: Contest, rounds: readonly Round[]): ContestResult {
  const targets = (rounds[0] ?? []).map(({ target }) => target)
  const base = targets.indexOf(baseOf(targets))
  const results = targets.map((_, index) => summarizeTarget(rounds, index, base))
  return { ...contest, rounds, results }
}

/** Whether every measurement that should have been possible was, and had no errors. */
export function isClean({ contests }: Pick<Comparison, 'contests'>): boolean {
  return contests.every(({ results }) => results.every(({ errors, failed }) => errors === 0 && !failed))
}

function summarizeTarget(rounds: readonly Round[], index: number, base: number): TargetResult {
  const outcomes = rounds.map((round) => round[index]!)
  const measured = outcomes.filter(isMeasured)
  const missing = outcomes.filter((outcome): outcome is NotMeasured => !isMeasured(outcome))
  const ratio =
    index === base
      ? null
      : spreads((figure) =>
          rounds.map((round) => quotient(figureOf(round[index]!, figure), figureOf(round[base]!, figure)))
        )
  return {
    target: outcomes[0]!.target,
    figures: spreads((figure) => measured.map((measurement) => measurement[figure])),
    ratio,
    baseAhead: figureNames.filter((figure) => {
      const median = ratio?.[figure]?.median ?? 1
      return figures[figure].better === 'higher' ? median < 1 : median > 1
    }),
    errors: measured.reduce((total, { errors }) => total + errors, 0),
    notMeasured: missing.length,
    reason: missing[0]?.notMeasured ?? null,
    failed: missing.some(({ failed }) => failed)
  }
}

const figureOf = (outcome: Outcome, figure: Figure): number | null =>
  isMeasured(outcome) ? outcome[figure] : null

function spreads(values: (figure: Figure) => readonly (number | null)[]): FigureSpreads {
  const entries = figureNames.map((figure) => {
    const known = values(figure).filter((value) => value !== null)
    return [figure, spread(known)]
  })
  return Object.fromEntries(entries) as FigureSpreads
}

const quotient = (a: number | null, b: number | null): number | null =>
  a === null || b === null || b === 0 ? null : a / b
