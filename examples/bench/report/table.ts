/** A comparison as text for a terminal. */
import type { ContestClient } from '../options/comparison-options.ts'
import { shapes } from '../payload/payload.ts'
import { isOurs, targets } from '../targets/targets.ts'
import {
  type Comparison,
  type ContestResult,
  type Figure,
  figureNames,
  figures,
  type TargetResult
} from './comparison.ts'
import type { Environment } from './environment.ts'
import type { Spread } from './statistics.ts'

type Options = Comparison['options']

const WHO_ASKS: Readonly<Record<ContestClient, string>> = {
  own: 'each with its own client',
  nest: "Nest's client asks everybody",
  raw: 'raw sockets ask everybody'
}

export function renderComparison({ options, base, environment, contests }: Comparison): string {
  const { runs, duration, warmup, runtime } = options
  return [
    ...(environment === null ? ['nothing could be measured'] : describeMachine(environment, options)),
    `echo of ${describePayload(options)} · clients and servers under ${runtime} · ${plural(runs, 'run')} of ${duration} s after ${warmup} s of warm-up`,
    `medians of the runs; ratios to ${base} are taken run by run${describeChoices(options)}`,
    ...contests.flatMap((contest) => ['', ...renderContest(contest, base, options.concurrency)]),
    ''
  ].join('\n')
}

function describePayload({ shape, payload }: Options): string {
  const { title, defaultBytes } = shapes[shape]
  const size = payload.toLocaleString('en')
  return defaultBytes === undefined ? `${title}, ${size} B as JSON` : `${title}, ${size} B`
}

/** What was chosen for the clients that let one choose. */
function describeChoices({ targets, protocol, codec, method }: Options): string {
  const own = targets.some(isOurs) ? `; elysia's own client speaks ${protocol}, data as ${codec}` : ''
  return method === 'send' ? `${own}; elysia and nest ask by firstValueFrom(client.send())` : own
}

function describeMachine(environment: Environment, { targets: names }: Options): string[] {
  const { cpu, cpuCount, kernel, bun, node, packages, pinning } = environment
  const runtime = bun === null ? `Node ${node}` : `Bun ${bun}`
  const pinned = pinning.note ?? `server on CPU ${pinning.server}, client on CPU ${pinning.client}`
  const versions = names.flatMap((name) => targets[name].package ?? [])
  return [
    `${cpu}, ${plural(cpuCount, 'CPU')} · ${kernel} · ${runtime} · ${pinned}`,
    versions.map((name) => `${name} ${packages[name]}`).join(', ')
  ].filter((line) => line !== '')
}

function renderContest({ client, connections, results }: ContestResult, base: string, concurrency: number) {
  const rows = [
    ['', ...figureNames.map((figure) => figures[figure].title), 'errors'],
    ...results.map(({ target, figures, errors }) => [
      target,
      ...figureNames.map((figure) => medianOf(figure, figures[figure])),
      String(errors)
    ]),
    ...results.flatMap((result) => ratioRows(result, base))
  ]
  return [
    `${layoutOf(connections, concurrency)} · ${plural(concurrency, 'request')} at a time · ${WHO_ASKS[client]}`,
    ...alignColumns(rows),
    ...results.flatMap((result) => remarks(result, base))
  ]
}

function ratioRows({ target, ratio }: TargetResult, base: string): string[][] {
  if (ratio === null || ratio.rps === null) return []
  const row = (title: string, value: keyof Spread) => [
    title,
    ...figureNames.map((figure) => times(ratio[figure]?.[value])),
    ''
  ]
  return [row(`${target} ÷ ${base}`, 'median'), row('  lowest', 'min'), row('  highest', 'max')]
}

/** Where the base is ahead, and what was not measured: neither may go unsaid. */
function remarks(
  { target, ratio, figures: known, baseAhead, notMeasured, reason }: TargetResult,
  base: string
) {
  const lines: string[] = []
  if (ratio !== null && ratio.rps !== null) {
    const ahead = baseAhead.map((figure) => figures[figure].title).join(', ')
    lines.push(`${base} is ahead of ${target} in ${ahead || 'nothing'}.`)
  }
  if (notMeasured > 0) {
    const runs = known.rps === null ? '' : ` in ${plural(notMeasured, 'run')}`
    lines.push(`${target} was not measured${runs}: ${reason}`)
  }
  return lines
}

/** What the layout of a load's connections is called. */
export function layoutOf(connections: number, concurrency: number): string {
  return connections === 1 && concurrency > 1 ? 'shared connection' : 'connection per client'
}

const medianOf = (figure: Figure, value: Spread | null): string =>
  value === null ? '–' : fixed(value.median, figures[figure].digits)

const fixed = (value: number, digits: number): string =>
  value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })

const times = (ratio: number | undefined): string => (ratio === undefined ? '–' : `${ratio.toFixed(2)}x`)

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

/** The first column to the left, the others to the right. */
function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join('  ')
      .trimEnd()
  )
}
