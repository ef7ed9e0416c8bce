/** What a comparison found: measurements in pairs, and per contest the medians and ratios made of them. */
import type { ComparisonOptions, ContestClient } from '../options/comparison-options.ts'
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
  serverRssMb: { title: 'server MiB', digits: 1, better: 'lower' }
} as const
export type Figure = keyof typeof figures
export const figureNames = Object.keys(figures) as Figure[]

/** One measurement of each side, one right after the other. */
export interface Pair {
  readonly elysia: Measurement
  readonly nest: Measurement
}

/** What is put side by side: the same load on both servers. */
export interface Contest {
  readonly client: ContestClient
  readonly connections: number
}

export type FigureSpreads = Readonly<Record<Figure, Spread | null>>

export interface ContestResult extends Contest {
  readonly pairs: readonly Pair[]
  readonly elysia: FigureSpreads
  readonly nest: FigureSpreads
  /** Elysia's figure divided by Nest's, pair by pair: noise that hits both sides of a pair cancels out. */
  readonly ratio: FigureSpreads
  /** The figures in which Nest is ahead by the median ratio. */
  readonly nestAhead: readonly Figure[]
  readonly errors: { readonly elysia: number; readonly nest: number }
}

export interface Comparison {
  readonly startedAt: string
  readonly options: Omit<ComparisonOptions, 'out'>
  readonly environment: Environment
  readonly contests: readonly ContestResult[]
}

export function summarize(contest: Contest, pairs: readonly Pair[]): ContestResult {
  const ratio = spreads((figure) => pairs.map(({ elysia, nest }) => quotient(elysia[figure], nest[figure])))
  return {
    ...contest,
    pairs,
    elysia: spreads((figure) => pairs.map(({ elysia }) => elysia[figure])),
    nest: spreads((figure) => pairs.map(({ nest }) => nest[figure])),
    ratio,
    nestAhead: figureNames.filter((figure) => {
      const median = ratio[figure]?.median ?? 1
      return figures[figure].better === 'higher' ? median < 1 : median > 1
    }),
    errors: { elysia: sum(pairs, ({ elysia }) => elysia.errors), nest: sum(pairs, ({ nest }) => nest.errors) }
  }
}

function spreads(values: (figure: Figure) => readonly (number | null)[]): FigureSpreads {
  const entries = figureNames.map((figure) => {
    const known = values(figure).filter((value) => value !== null)
    return [figure, spread(known)]
  })
  return Object.fromEntries(entries) as FigureSpreads
}

const quotient = (a: number | null, b: number | null): number | null =>
  a === null || b === null || b === 0 ? null : a / b

const sum = (pairs: readonly Pair[], value: (pair: Pair) => number): number =>
  pairs.reduce((total, pair) => total + value(pair), 0)
