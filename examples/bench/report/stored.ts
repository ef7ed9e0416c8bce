/** Stored reports: reads, checks and combines them. */
import { basename } from 'node:path'
import { Value } from '@sinclair/typebox/value'
import { BenchError } from '../errors.ts'
import { LABEL } from '../peers/targets.ts'
import { behindIn, type Round, verdictsOn } from './comparison.ts'
import { keyOf } from './contest.ts'
import { comparedFiguresOf, type Figure, figureNames } from './figures.ts'
import {
  type Comparison,
  type ContestResult,
  comparisonSchema,
  type FigureSpreads,
  SCHEMA,
  type TargetResult,
  VERSION
} from './schema.ts'
import type { Spread } from './statistics.ts'

export interface Stored {
  readonly label: string
  readonly comparison: Comparison
}

/**
 * Reads a report as `compare` has written it.
 *
 * @throws BenchError with the error and its place in the report
 */
export function readStored(file: string, text: string): Stored {
  const value = parse(file, text)
  const { schema, version } = (value ?? {}) as { schema?: unknown; version?: unknown }
  if (schema !== SCHEMA) throw new BenchError(`${file} is not a report of this benchmark.`)
  if (version !== VERSION) {
    throw new BenchError(
      `${file} has version ${String(version)} of the report, but only version ${VERSION} can be read.`
    )
  }
  if (!Value.Check(comparisonSchema, value)) {
    const wrong = Value.Errors(comparisonSchema, value).First()
    throw new BenchError(`${file} is not a report of version ${VERSION}: ${wrong?.path} ${wrong?.message}`)
  }
  return { label: basename(file).replace(/\.json$/, ''), comparison: value }
}

function parse(file: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new BenchError(`${file} is not JSON.`)
  }
}

/**
 * A single report is returned unchanged, with the command that measured it. With several reports, each target of each
 * report becomes a series, in every contest that all reports have; figures of later reports are divided by those of
 * the same target in the first.
 *
 * @throws BenchError if they have no contest in common
 */
export function combine(reports: readonly Stored[], command: string): Comparison {
  const [first, ...others] = reports
  if (others.length === 0) return first!.comparison
  const labels = unique(reports.map(({ label }) => label))
  const contests = first!.comparison.contests.flatMap((contest): ContestResult[] => {
    const same = reports.map(({ comparison }) =>
      comparison.contests.find((other) => keyOf(other) === keyOf(contest))
    )
    const found = same.filter((one) => one !== undefined)
    return found.length === reports.length ? [together(found, labels)] : []
  })
  if (contests.length === 0) throw new BenchError('These reports have no contest in common.')
  return {
    ...first!.comparison,
    command,
    base: `${first!.comparison.base}${LABEL}${labels[0]}`,
    contests,
    sources: reports.map(({ comparison: { startedAt, command: typed, commit, environment } }, index) => ({
      label: labels[index]!,
      startedAt,
      command: typed,
      commit,
      environment
    }))
  }
}

function together(contests: readonly ContestResult[], labels: readonly string[]): ContestResult {
  const named = (index: number) => (target: string) => `${target}${LABEL}${labels[index]}`
  const runs = Math.max(...contests.map(({ rounds }) => rounds.length))
  const rounds = Array.from(
    { length: runs },
    (_, run): Round =>
      contests.flatMap((contest, index) =>
        contest.results.map(
          ({ target }) =>
            rename(
              contest.rounds[run]?.find((outcome) => outcome.target === target),
              named(index)
            ) ?? {
              target: named(index)(target),
              notMeasured: 'it had fewer runs',
              failed: false
            }
        )
      )
  )
  const results = contests.flatMap((contest, index) =>
    contest.results.map((result): TargetResult => {
      const base =
        index === 0 ? undefined : contests[0]!.results.find(({ target }) => target === result.target)
      const ratio = base === undefined ? null : ratioOf(result.figures, base.figures)
      return {
        ...result,
        target: named(index)(result.target),
        ratioTo: base === undefined ? null : named(0)(base.target),
        ratio,
        baseAhead: behindIn(ratio, comparedFiguresOf(contest))
      }
    })
  )
  return {
    ...contests[0]!,
    rounds: rounds.map((round) => [...round]),
    results,
    verdicts: verdictsOn(contests[0]!, rounds)
  }
}

function rename<T extends { readonly target: string }>(one: T | undefined, name: (target: string) => string) {
  return one === undefined ? undefined : { ...one, target: name(one.target) }
}

/** Runs of different days are no pairs, so this is the ratio of the medians, and its largest possible error. */
function ratioOf(later: FigureSpreads, earlier: FigureSpreads): FigureSpreads {
  const divide = (a: Spread | null | undefined, b: Spread | null | undefined): Spread | null =>
    a == null || b == null || b.min === 0
      ? null
      : { median: a.median / b.median, min: a.min / b.max, max: a.max / b.min }
  return Object.fromEntries(
    figureNames.map((figure: Figure) => [figure, divide(later[figure], earlier[figure])])
  ) as FigureSpreads
}

/** Adds numbers to equal labels: files in different folders may have the same name. */
const unique = (labels: readonly string[]): string[] =>
  labels.map((label, index) => (labels.indexOf(label) === index ? label : `${label} ${index + 1}`))
