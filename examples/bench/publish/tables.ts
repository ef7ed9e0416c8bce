/** The tables of the documentation, made of the published report: what a page says of figures, it says by these. */
import type { Runtime } from '../process/runtime.ts'
import { type Layout, layoutOf, settingOf } from '../report/contest.ts'
import { type Figure, figures, plural, times } from '../report/figures.ts'
import { runsOf } from '../report/rows.ts'
import type { Comparison, ContestResult, TargetResult } from '../report/schema.ts'
import { titleOfTarget } from './titles.ts'

type Rows = readonly (readonly string[])[]

/** The contests in which everybody is: a string of 200 B by 100 callers, each with its own client. */
function headline({ contests }: Comparison, runtime: Runtime): ContestResult[] {
  return contests.filter(
    (contest) =>
      contest.client === 'own' &&
      contest.shape === 'flat' &&
      contest.concurrency === 100 &&
      contest.runtime === runtime
  )
}

/** What README.md shows first. */
export function headlineTable(comparison: Comparison): string {
  const bun = headline(comparison, 'bun').toReversed()
  const node = headline(comparison, 'node').toReversed()
  const rows = [
    ...bun.flatMap((contest) => {
      const row = rowOf(contest)
      return [
        row(`**${layoutOf(contest)}**: req/s`, ['rps'], '', true),
        row('p50 / p99', ['p50', 'p99'], ' ms'),
        row('server CPU per request', ['serverCpuUsPerRequest'], ' µs')
      ]
    }),
    ...node.map((contest) => rowOf(contest)(`${layoutOf(contest)}, under Node: req/s`, ['rps'], '', true))
  ]
  const ahead = [...bun, ...node].flatMap((contest) => {
    const { baseAhead } = resultOf(contest, 'elysia')
    return baseAhead.length === 0
      ? []
      : [
          `${baseAhead.map((name) => figures[name].title).join(', ')} (${layoutOf(contest)}, ${contest.runtime})`
        ]
  })
  const where = ahead.length === 0 ? 'nothing of this' : ahead.join('; ')
  return [
    conditionsOf(comparison, bun[0]!),
    table(['', 'ours, RSocket', 'NestJS', 'ours ÷ Nest'], rows),
    `Nest is ahead in ${where}.`
  ].join('\n\n')
}

function rowOf(contest: ContestResult) {
  const [ours, nest] = [resultOf(contest, 'elysia'), resultOf(contest, 'nest')]
  return (title: string, names: readonly Figure[], unit = '', bold = false): string[] => {
    const medians = ({ figures: known }: TargetResult) =>
      `${names.map((name) => shown(name, known[name]?.median)).join(' / ')}${unit}`
    const ratio = names.map((name) => times(ours.ratio?.[name]?.median)).join(' / ')
    return [title, medians(ours), medians(nest), bold ? `**${ratio}**` : ratio]
  }
}

/** What was measured for less shows that everything works, and not how fast it is. */
const SECONDS_TO_TRUST = 5

/** The machine, the versions, and how it was measured, in a sentence. */
export function conditionsOf(
  { environment, startedAt, options }: Comparison,
  contest: ContestResult
): string {
  if (environment === null) return 'Nothing could be measured.'
  const { cpu, cpuCount, kernel, bun, node, packages } = environment
  const runs = runsOf('elysia', contest.rounds).replace(' × ', ' interleaved runs of ')
  const caveat = options.duration < SECONDS_TO_TRUST ? '**Preliminary, from a short run.** ' : ''
  return (
    `${caveat}An echo of 200 B by 100 callers, under Bun ${bun} and Node ${node} on a machine with ${plural(cpuCount, 'core')} (${cpu}, ` +
    `${kernel}; server on one, client on another), against NestJS ${packages['@nestjs/microservices']}'s TCP ` +
    `transport, each asked by its own client; medians of ${runs}, and the median of the ratios run by run. ` +
    `Measured on ${startedAt.slice(0, 10)}; [the whole report](${REPORT}) has every figure.`
  )
}

/** From the root; `documents.ts` makes it relative to the page. */
export const REPORT = 'docs/benchmarks/report.md'

const COLUMNS = [
  'rps',
  'p50',
  'p90',
  'p99',
  'serverCpuUsPerRequest',
  'clientCpuUsPerRequest',
  'serverRssMb'
] as const satisfies readonly Figure[]

/** Every peer, with all figures. */
export const peersTable = (comparison: Comparison, runtime: Runtime): string =>
  wholeTable(headline(comparison, runtime).toReversed(), layoutOf)

/** What is echoed varies; with it, the codec. */
export const payloadTable = (comparison: Comparison, runtime: Runtime, layout: Layout): string =>
  wholeTable(
    comparison.contests.filter(
      (contest) =>
        contest.client === 'own' &&
        contest.shape !== 'flat' &&
        contest.runtime === runtime &&
        contest.layout === layout
    ),
    (contest) => settingOf(contest).split(' · ')[0]!
  )

/** Nest's client, and raw sockets, ask both servers. */
export const sameClientTable = (comparison: Comparison): string =>
  wholeTable(
    comparison.contests.filter(({ client }) => client !== 'own'),
    ({ client, layout }) => `${client === 'nest' ? "Nest's client" : 'raw sockets'}, ${layoutOf({ layout })}`
  )

/** For each contest a row for everybody in it, and the ratio of ours to Nest's. */
function wholeTable(contests: readonly ContestResult[], nameOf: (contest: ContestResult) => string): string {
  const rows = contests.flatMap((contest) => [
    ...contest.results.map((result, index) => [
      `${index === 0 ? `**${nameOf(contest)}**: ` : ''}${titleOfTarget(result.target)}`,
      ...COLUMNS.map(
        (name) => `${shown(name, result.figures[name]?.median)}${name === 'rps' ? errorsOf(result) : ''}`
      ),
      runsOf(result.target, contest.rounds)
    ]),
    ...contest.results.slice(0, 1).map(ratioRow)
  ])
  return table(['', ...COLUMNS.map((name) => figures[name].title), 'runs'], rows)
}

/** Who answers fast what it answers at all has not won. */
const errorsOf = ({ errors }: TargetResult): string => (errors === 0 ? '' : ` (${plural(errors, 'error')})`)

function ratioRow({ target, ratio, ratioTo }: TargetResult): string[] {
  const cells = COLUMNS.map((name) => {
    const range = ratio?.[name]
    if (range === null || range === undefined) return '–'
    const digits = times(range.median)
    return name === 'rps' ? `**${digits}** (${range.min.toFixed(2)}–${range.max.toFixed(2)})` : digits
  })
  return [`${titleOfTarget(target)} ÷ ${titleOfTarget(ratioTo ?? '–')}`, ...cells, '']
}

/** Req/s by how much is asked at a time. */
export function concurrencyTable(comparison: Comparison, runtime: Runtime): string {
  const contests = comparison.contests.filter(
    (contest) => contest.client === 'own' && contest.shape === 'flat' && contest.runtime === runtime
  )
  const several = contests.filter(({ concurrency }) => concurrency > 1)
  const names = several[0]!.results
    .map(({ target }) => target)
    .filter((name) => several.every(({ results }) => results.some(({ target }) => target === name)))
  const sorted = contests.toSorted((a, b) => a.concurrency - b.concurrency)
  const rows = names.flatMap((name) =>
    (['shared', 'per-client'] as const).map((layout) => [
      `${titleOfTarget(name)}, ${layoutOf({ layout })}`,
      ...sorted
        .filter((contest) => contest.concurrency === 1 || contest.layout === layout)
        .map((contest) => resultOf(contest, name))
        .map((result) => `${shown('rps', result.figures.rps?.median)}${errorsOf(result)}`)
    ])
  )
  const counts = [...new Set(sorted.map(({ concurrency }) => concurrency))]
  return table(['req/s', ...counts.map((count) => plural(count, 'request'))], rows)
}

/** @throws Error if it is not in the contest */
function resultOf({ results }: ContestResult, name: string): TargetResult {
  const result = results.find(({ target }) => target === name)
  if (result === undefined) throw new Error(`${name} is in no contest of the report`)
  return result
}

/** `86,515`, `0.091`, `5.66`, `106`: three digits of what is below 1,000. */
function shown(figure: Figure, value: number | undefined): string {
  if (value === undefined) return '–'
  if (figure === 'rps') return Math.round(value).toLocaleString('en')
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3
  return value.toFixed(digits)
}

function table(head: readonly string[], rows: Rows): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), `| ${head.map(() => '---').join(' | ')} |`, ...rows.map(line)].join('\n')
}
