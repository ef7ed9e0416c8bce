/** A comparison as text for a terminal. */
import type { ContestClient } from '../options/comparison-options.ts'
import { type Comparison, type ContestResult, type Figure, figureNames, figures } from './comparison.ts'
import type { Environment } from './environment.ts'
import type { Spread } from './statistics.ts'

const WHO_ASKS: Readonly<Record<ContestClient, string>> = {
  own: 'each with its own client',
  nest: "Nest's client on both sides",
  raw: 'raw sockets on both sides'
}

export function renderComparison({ options, environment, contests }: Comparison): string {
  const { payload, runs, duration, warmup, runtime, protocol } = options
  return [
    ...describeMachine(environment, runtime),
    `echo of ${payload} B · servers under ${runtime} · ${plural(runs, 'run')} of ${duration} s after ${warmup} s of warm-up`,
    `medians of the runs; elysia ÷ nest is taken pair by pair; elysia's own client speaks ${protocol}`,
    ...contests.flatMap((contest) => ['', ...renderContest(contest, options.concurrency)]),
    ''
  ].join('\n')
}

function describeMachine(
  { cpu, cpuCount, kernel, bun, node, packages, pinning }: Environment,
  runtime: string
): string[] {
  const runtimes =
    runtime === 'node' && node !== null ? `Bun ${bun} (clients), Node ${node} (servers)` : `Bun ${bun}`
  const pinned = pinning.note ?? `server on CPU ${pinning.server}, client on CPU ${pinning.client}`
  return [
    `${cpu}, ${plural(cpuCount, 'CPU')} · ${kernel} · ${runtimes} · ${pinned}`,
    `elysia-microservices ${packages['elysia-microservices']}, @nestjs/microservices ${packages['@nestjs/microservices']}`
  ]
}

function renderContest(contest: ContestResult, concurrency: number): string[] {
  const { client, connections, elysia, nest, ratio, errors, nestAhead } = contest
  const rows = [
    ['', ...figureNames.map((figure) => figures[figure].title), 'errors'],
    ['elysia', ...figureNames.map((figure) => medianOf(figure, elysia[figure])), String(errors.elysia)],
    ['nest', ...figureNames.map((figure) => medianOf(figure, nest[figure])), String(errors.nest)],
    ['elysia ÷ nest', ...figureNames.map((figure) => times(ratio[figure]?.median)), ''],
    ['  lowest', ...figureNames.map((figure) => times(ratio[figure]?.min)), ''],
    ['  highest', ...figureNames.map((figure) => times(ratio[figure]?.max)), '']
  ]
  return [
    `${shapeOf(connections, concurrency)} · ${plural(concurrency, 'request')} at a time · ${WHO_ASKS[client]}`,
    ...alignColumns(rows),
    nestAhead.length === 0
      ? 'Nest is ahead in nothing.'
      : `Nest is ahead in ${nestAhead.map((figure) => figures[figure].title).join(', ')}.`
  ]
}

/** What the shape of a load is called. */
export function shapeOf(connections: number, concurrency: number): string {
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
