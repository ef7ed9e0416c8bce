/** The tables of the documentation with results of peers, generated from the published report. */
import { INSIDE_NEST, OVER_MQTT, OVER_NATS, OVER_RABBITMQ, OVER_REDIS, WATCHED } from '../full-plan.ts'
import { describeTask, layoutOf, loadOf, payloadOf } from '../report/contest.ts'
import { CPU, type Figure, figuresOf, plural, times, titleOfFigure } from '../report/figures.ts'
import { runsOf } from '../report/rows.ts'
import type { Comparison, ContestResult, TargetResult } from '../report/schema.ts'
import { type Mode, taskOf } from '../task/task.ts'
import { type Block, shown, table } from './cells.ts'
import { CHARTS, inBrief } from './charts.ts'
import {
  find,
  type Is,
  isLongStream,
  isManyStreams,
  isObject,
  isSlowReader,
  isText,
  isWaiting,
  resultOf
} from './contests.ts'
import { nestAhead } from './nest-ahead.ts'
import { titleOfTarget } from './titles.ts'

/** A table with a column for each use, and rows for our figure, NestJS's and the ratio. */
function requestsTable(comparison: Comparison): string {
  const rows = (['bun', 'node'] as const).flatMap((runtime) =>
    (['shared', 'per-client'] as const).flatMap((layout) => {
      const contests = COLUMNS_OF_REQUESTS.map(({ is }) => find(comparison, { is, layout, runtime }))
      const row = (title: string, cell: (contest: ContestResult) => string) => [
        title,
        ...contests.map((contest) => (contest === undefined ? '–' : cell(contest)))
      ]
      const median = (name: string) => (contest: ContestResult) => {
        const result = resultOf(contest, name)
        return `${shown('rps', result.figures.rps?.median)}${errorsOf(result)}`
      }
      const where = `${layoutOf({ layout })}${runtime === 'node' ? ', under Node' : ''}`
      return [
        row(`**${where}**: ours, RSocket`, median('elysia')),
        row('NestJS', median('nest')),
        row('ours ÷ Nest', (contest) => `**${times(resultOf(contest, 'elysia').ratio?.rps?.median)}**`)
      ]
    })
  )
  return table(['', ...COLUMNS_OF_REQUESTS.map(({ title }) => title)], rows)
}

const COLUMNS_OF_REQUESTS: readonly { readonly title: string; readonly is: Is }[] = [
  { title: 'text of 200 B, req/s', is: isText },
  { title: 'object of 244 B, req/s', is: isObject },
  { title: 'handler that answers later, req/s', is: isWaiting }
]

/** The least seconds of a measurement that says how fast something is; a shorter one only shows that it works. */
const SECONDS_TO_TRUST = 5

/** The machine, the versions, and how the report was measured. */
function conditions(comparison: Comparison): string {
  const { environment, startedAt, options } = comparison
  const contest = find(comparison, { is: isText, layout: 'shared' })
  if (environment === null || contest === undefined) return 'Nothing could be measured.'
  const { cpu, cpuCount, kernel, bun, node, packages } = environment
  const [runs, others] = [contest, find(comparison, { is: isObject, layout: 'shared' }) ?? contest].map(
    (each) => runsOf(resultOf(each, 'elysia')).replace(' × ', ' runs of ')
  )
  const caveat = options.duration < SECONDS_TO_TRUST ? '**Preliminary, from a short run.** ' : ''
  return (
    `${caveat}Measured on ${startedAt.slice(0, 10)} on a machine with ${plural(cpuCount, 'core')} (${cpu}, ${kernel}), the server ` +
    `on one and the client on another, with Bun ${bun}, Node ${node} and NestJS ${packages['@nestjs/microservices']}. ` +
    'Figures are medians, ratios are taken run by run, and servers are measured in turns. ' +
    `The first table has ${runs} for the text of 200 B, and ${others} for the rest. ` +
    `[The whole report](${REPORT}) has all figures, runs, ranges and peers.`
  )
}

/** The path from the root; `documents.ts` makes it relative to the page. */
const REPORT = 'docs/benchmarks/report.md'

/** A summary in one line. */
function summary({ environment, startedAt }: Comparison): string {
  const machine =
    environment === null ? '' : ` on ${plural(environment.cpuCount, 'core')} (${environment.cpu})`
  return `Measured on ${startedAt.slice(0, 10)}${machine}, each server with its own client, over TCP. [Performance](docs/performance.md) has streams, memory, HTTP, where Nest is ahead, and how to measure it yourself.`
}

const chart =
  (name: string): Block =>
  (comparison) =>
    `![${inBrief(name, comparison)}](docs/benchmarks/chart-${name}.svg)`

/** The figures of each mode that the documentation shows. */
const COLUMNS: Readonly<Partial<Record<Mode, readonly Figure[]>>> = {
  request: ['rps', 'p50', 'p90', 'p99', ...CPU, 'serverRssMb'],
  stream: ['rps', 'p50', ...CPU, 'rssPeak', 'clientRssPeak']
}

type NameOf = (contest: ContestResult) => string

interface Shown {
  readonly scope?: string
  /** Whether to include the contests on Node. */
  readonly runtimes?: boolean
  /** Whether a target has a row. Default: all. */
  readonly shows?: (target: string) => boolean
}

/** Contests in which all targets are called by their own clients; on Bun, unless their names include a runtime. */
const own =
  (is: Is, nameOf: NameOf, { scope, runtimes = false, shows = () => true }: Shown = {}): Block =>
  ({ contests }) =>
    wholeTable(
      contests
        .filter(
          (contest) =>
            contest.client === 'own' &&
            contest.scope === scope &&
            (runtimes || contest.runtime === 'bun') &&
            is(contest)
        )
        .map((contest) => ({
          ...contest,
          results: contest.results.filter(({ target }) => shows(target))
        })),
      (contest) => `${nameOf(contest)}${runtimes && contest.runtime === 'node' ? ', under Node' : ''}`
    )

const modeIs =
  (mode: Mode): Is =>
  (contest) =>
    taskOf(contest).mode === mode
const asked: NameOf = (contest) => describeTask(taskOf(contest))

/** The tables for the page of one engine. */
const overEngine = (name: string, scope: string): Record<string, Block> => ({
  [`${name} requests`]: own(modeIs('request'), loadOf, { scope, runtimes: true }),
  [`${name} streams`]: own(modeIs('stream'), asked, { scope, runtimes: true }),
  [`${name} stored`]: own(modeIs('durable'), asked, { scope, runtimes: true })
})

/** The generated texts by the names of their markers, from the report of peers. */
export const BLOCKS: Readonly<Record<string, Block>> = {
  summary,
  conditions,
  ...Object.fromEntries(Object.keys(CHARTS).map((name) => [`chart ${name}`, chart(name)])),
  requests: requestsTable,
  // Nest with our server and client has a table of its own.
  peers: own((contest) => isText(contest) && contest.layout === 'shared', layoutOf, {
    shows: (target) => target !== 'nest-strategy'
  }),
  'inside nest': own(
    () => true,
    (contest) => `${payloadOf(contest)}, ${layoutOf(contest)}`,
    {
      scope: INSIDE_NEST,
      runtimes: true
    }
  ),
  streams: own(
    (contest) => isLongStream(contest) || isManyStreams(contest),
    (contest) => `${loadOf(contest)}, ${asked(contest)}, ${layoutOf(contest)}`,
    { runtimes: true, shows: (target) => target === 'elysia' || target === 'nest' }
  ),
  'slow reader': own(isSlowReader, asked),
  'nest ahead': nestAhead,
  // Contests in which each target has its own server.
  ...overEngine('nats', OVER_NATS),
  ...overEngine('redis', OVER_REDIS),
  ...overEngine('rabbitmq', OVER_RABBITMQ),
  ...overEngine('mqtt', OVER_MQTT),
  // The cost of counting and tracing for a service.
  watched: own(() => true, layoutOf, { scope: WATCHED, runtimes: true })
}

/** Whether a contest compares memory only, as with slow readers. */
const comparesMemory = (contest: ContestResult): boolean => figuresOf(contest)[0] === 'rssPeak'

/** A table with rows for all targets of each contest, and our ratio to NestJS. */
function wholeTable(contests: readonly ContestResult[], nameOf: NameOf): string {
  const [first] = contests
  if (first === undefined) return 'Not in this report.'
  const known = figuresOf(first)
  const columns = comparesMemory(first)
    ? known
    : (COLUMNS[taskOf(first).mode] ?? known).filter((name) => known.includes(name))
  const rows = contests.flatMap((contest) => [
    ...contest.results.map((result, index) => [
      `${index === 0 ? `**${nameOf(contest)}**: ` : ''}${titleOfTarget(result.target)}`,
      ...columns.map(
        (name) => `${shown(name, result.figures[name]?.median)}${name === columns[0] ? errorsOf(result) : ''}`
      ),
      runsOf(result)
    ]),
    ...ratiosOf(contest).map((result) => ratioRow(result, columns))
  ])
  return table(['', ...columns.map((name) => titleOfFigure(name, first)), 'runs'], rows)
}

/** The targets with a ratio: among peers ours to NestJS's; in small contests each to the first. */
const ratiosOf = ({ scope, results }: ContestResult): readonly TargetResult[] => {
  const compared = results.filter(({ ratioTo }) => ratioTo !== null)
  return scope === undefined ? compared.slice(0, 1) : compared
}

/** The number of errors of a target: a target with errors has not won, however fast its other answers are. */
const errorsOf = ({ errors }: TargetResult): string => (errors === 0 ? '' : ` (${plural(errors, 'error')})`)

function ratioRow({ target, ratio, ratioTo }: TargetResult, columns: readonly Figure[]): string[] {
  const cells = columns.map((name) => {
    const range = ratio?.[name]
    if (range === null || range === undefined) return '–'
    const digits = times(range.median)
    return name === columns[0] ? `**${digits}** (${range.min.toFixed(2)}–${range.max.toFixed(2)})` : digits
  })
  return [`${titleOfTarget(target)} ÷ ${titleOfTarget(ratioTo ?? '–')}`, ...cells, '']
}
