/** Measures two commits in turn, and decides on every figure. */
import type { GateOptions } from '../options/gate-options.ts'
import { type Figure, figures, times } from '../report/figures.ts'
import type { Measurement } from '../report/schema.ts'
import { decide, type Finding, type Pair } from './decide.ts'
import type { GateLoad } from './loads.ts'

export type Side = 'head' | 'base'

/** Measures a commit once. */
export type MeasureSide = (
  side: Side,
  load: GateLoad,
  run: number
) => Promise<Pick<Measurement, Figure | 'errors'>>

export interface LoadFinding extends Finding {
  /** The name of the load. */
  readonly load: string
}

export interface GateResult {
  readonly findings: readonly LoadFinding[]
  /** Requests that failed: a commit with errors is not slow but broken, unless the machine is. */
  readonly errors: Readonly<Record<Side, number>>
}

export async function runGate(options: GateOptions, measure: MeasureSide): Promise<GateResult> {
  const errors = { head: 0, base: 0 }
  const rounds = new Map(options.loads.map((load) => [load, [] as Record<Side, Measured>[]]))
  for (let run = 0; run < options.runs; run++) {
    for (const load of options.loads) {
      const round: Partial<Record<Side, Measured>> = {}
      // The second measurement depends on the state in which the first has left the machine, so the order alternates.
      for (const side of run % 2 === 0 ? (['head', 'base'] as const) : (['base', 'head'] as const)) {
        round[side] = await measure(side, load, run)
        errors[side] += round[side].errors
      }
      rounds.get(load)!.push(round as Record<Side, Measured>)
    }
  }
  const findings = options.loads.flatMap((load) =>
    options.figures.flatMap((figure) => {
      const finding = decide(figure, pairsOf(figure, rounds.get(load)!), options.rule)
      return finding === null ? [] : [{ ...finding, load: load.name }]
    })
  )
  return { findings, errors }
}

type Measured = Awaited<ReturnType<MeasureSide>>

/** Pairs for which both values are known. */
function pairsOf(figure: Figure, rounds: readonly Record<Side, Measured>[]): Pair[] {
  return rounds.flatMap(({ head, base }) => {
    const [ours, theirs] = [head[figure], base[figure]]
    return ours == null || theirs == null || ours <= 0 || theirs <= 0 ? [] : [{ head: ours, base: theirs }]
  })
}

export const isPassed = ({ findings, errors }: GateResult): boolean =>
  findings.length > 0 && errors.head === 0 && findings.every(({ failed }) => !failed)

/** A line for each finding. */
export function describeGate({ findings, errors }: GateResult): string[] {
  return [
    ...findings.map(({ load, figure, ratio, probability, failed }) => {
      const range = `${times(ratio.median)} of base (${times(ratio.min)} to ${times(ratio.max)})`
      const chance = `chance explains it with p = ${probability.toFixed(4)}`
      return `${failed ? 'DROP' : 'ok  '}  ${load}  ${figures[figure].title}: ${range}; ${chance}`
    }),
    ...(['head', 'base'] as const)
      .filter((side) => errors[side] > 0)
      .map((side) => `${errors[side]} requests to ${side} failed`),
    ...(findings.length === 0 ? ['nothing was measured'] : [])
  ]
}
