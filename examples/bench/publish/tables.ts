/** The tables of the documentation, made of the published report: what a page says of figures, it says by these. */
import { OVER_NATS, WATCHED } from '../full-plan.ts'
import type { Runtime } from '../process/runtime.ts'
import { describeTask, type Layout, layoutOf, loadOf, payloadOf, settingOf } from '../report/contest.ts'
import { type Figure, figuresOf, plural, times, titleOfFigure } from '../report/figures.ts'
import { runsOf } from '../report/rows.ts'
import type { Comparison, ContestResult, TargetResult } from '../report/schema.ts'
import { sizeRows, sizesHeader, typesHeader, typesRows } from '../report/sections.ts'
import { type Mode, taskOf } from '../task/task.ts'
import { shown, table } from './cells.ts'
import { titleOfTarget } from './titles.ts'

/** The contests in which everybody is: a string of 200 B by 100 callers, each with its own client. */
function headline({ contests }: Comparison, runtime: Runtime): ContestResult[] {
  return contests.filter(
    (contest) =>
      isEcho(contest) &&
      contest.shape === 'flat' &&
      contest.concurrency === 100 &&
      contest.runtime === runtime
  )
}

/** Answered at once, each asked by its own client. */
const isEcho = (contest: ContestResult): boolean =>
  contest.client === 'own' && contest.scope === undefined && describeTask(taskOf(contest)) === ''

/** What README.md shows first: a column for what services do, rows for ours, Nest's and the ratio. */
export function headlineTable(comparison: Comparison): string {
  const rows = (['bun', 'node'] as const).flatMap((runtime) =>
    (['shared', 'per-client'] as const).flatMap((layout) => {
      const contests = COLUMNS_OF_HEADLINE.map(({ is }) =>
        comparison.contests.find(
          (contest) =>
            contest.client === 'own' &&
            contest.runtime === runtime &&
            contest.layout === layout &&
            is(contest)
        )
      )
      const row = (title: string, cell: (contest: ContestResult) => string) => [
        title,
        ...contests.map((contest) => (contest === undefined ? '–' : cell(contest)))
      ]
      const median = (name: string) => (contest: ContestResult) =>
        `${shown('rps', figureOf(contest, name)?.median)}${errorsOf(resultOf(contest, name))}`
      const where = `${layoutOf({ layout })}${runtime === 'node' ? ', under Node' : ''}`
      return [
        row(`**${where}**: ours, RSocket`, median('elysia')),
        row('NestJS', median('nest')),
        row('ours ÷ Nest', (contest) => `**${times(resultOf(contest, 'elysia').ratio?.rps?.median)}**`)
      ]
    })
  )
  return [
    conditionsOf(comparison, headline(comparison, 'bun')[0]!),
    table(['', ...COLUMNS_OF_HEADLINE.map(({ title }) => title)], rows),
    `Nest is ahead in ${whereBehind(comparison)}.`
  ].join('\n\n')
}

/** What services do most, beside the echo of a text. */
const COLUMNS_OF_HEADLINE: readonly { title: string; is(contest: ContestResult): boolean }[] = [
  {
    title: 'text, req/s',
    is: (contest) => isEcho(contest) && contest.shape === 'flat' && contest.concurrency === 100
  },
  { title: 'object, req/s', is: (contest) => isEcho(contest) && contest.shape === 'object' },
  {
    title: 'handler that waits, req/s',
    is: (contest) => contest.task?.mode === 'request' && contest.task.handler === 'waits'
  },
  { title: 'one stream, values/s', is: (contest) => isLongStream(contest) },
  {
    title: '100 streams of 10, values/s',
    is: ({ task, concurrency }) => task?.mode === 'stream' && task.values === 10 && concurrency === 100
  }
]

const isLongStream = ({ task, concurrency, scope }: ContestResult): boolean =>
  scope === undefined &&
  task?.mode === 'stream' &&
  task.generator === 'sync' &&
  task.take === 'iterate' &&
  task.pause === 0 &&
  concurrency === 1

/** The figures of the columns of the headline in which Nest's median ratio is the better one. */
function whereBehind({ contests }: Comparison): string {
  const ahead = contests
    .filter(({ client }) => client === 'own')
    .filter((contest) => COLUMNS_OF_HEADLINE.some(({ is }) => is(contest)))
    .flatMap((contest) => {
      const { baseAhead } = resultOf(contest, 'elysia')
      const titles = baseAhead.map((name) => titleOfFigure(name, contest)).join(', ')
      return titles === '' ? [] : [`${titles} (${layoutOf(contest)}, ${settingOf(contest)})`]
    })
  return ahead.length === 0 ? 'nothing of this' : ahead.join('; ')
}

const figureOf = (contest: ContestResult, name: string) => resultOf(contest, name).figures.rps

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
    `${caveat}100 callers (one stream: one) ask for a text of 200 B, an object of 244 B, the text from a handler that ` +
    'answers in a later turn, and streams of small records, ' +
    `under Bun ${bun} and Node ${node} on a machine with ${plural(cpuCount, 'core')} (${cpu}, ` +
    `${kernel}; server on one, client on another), against NestJS ${packages['@nestjs/microservices']}'s TCP ` +
    `transport, each by its own client; medians of ${runs} for the text and fewer for the rest, and the median of ` +
    'the ratios run by run. ' +
    `Measured on ${startedAt.slice(0, 10)}; [the whole report](${REPORT}) has every figure.`
  )
}

/** From the root; `documents.ts` makes it relative to the page. */
export const REPORT = 'docs/benchmarks/report.md'

/** The figures that the documentation has of each mode. */
const COLUMNS: Readonly<Record<Mode, readonly Figure[]>> = {
  request: ['rps', 'p50', 'p90', 'p99', 'serverCpuUsPerRequest', 'clientCpuUsPerRequest', 'serverRssMb'],
  stream: ['rps', 'p50', 'serverCpuUsPerRequest', 'clientCpuUsPerRequest', 'rssPeak', 'clientRssPeak'],
  emit: ['rps', 'sent', 'lost', 'p50', 'p99', 'serverCpuUsPerRequest', 'rssPeak', 'clientRssPeak'],
  start: ['p50', 'listenMs', 'rssIdle'],
  suite: [],
  durable: ['rps', 'p50', 'p99', 'clientCpuUsPerRequest', 'clientRssPeak']
}

/** Every peer, with all figures. */
export const peersTable = (comparison: Comparison, runtime: Runtime): string =>
  wholeTable(headline(comparison, runtime).toReversed(), layoutOf)

/** What is echoed varies; with it, the codec. */
export const payloadTable = (comparison: Comparison, runtime: Runtime, layout: Layout): string =>
  wholeTable(
    comparison.contests.filter(
      (contest) =>
        isEcho(contest) &&
        contest.shape !== 'flat' &&
        contest.runtime === runtime &&
        contest.layout === layout
    ),
    payloadOf
  )

/** A text by handlers that answer later. */
export const handlersTable = (comparison: Comparison, runtime: Runtime): string =>
  tableOf(
    comparison,
    runtime,
    ({ task }) => task?.mode === 'request',
    (contest) => `${describeTask(taskOf(contest))}, ${layoutOf(contest)}`
  )

export const streamsTable = (comparison: Comparison, runtime: Runtime): string =>
  tableOf(
    comparison,
    runtime,
    ({ task }) => task?.mode === 'stream' && task.pause === 0,
    (contest) => `${loadOf(contest)}, ${describeTask(taskOf(contest))}, ${layoutOf(contest)}`
  )

export const slowReaderTable = (comparison: Comparison): string =>
  tableOf(
    comparison,
    'bun',
    ({ task }) => task?.mode === 'stream' && task.pause > 0,
    (contest) => describeTask(taskOf(contest))
  )

export const eventsTable = (comparison: Comparison): string =>
  tableOf(
    comparison,
    'bun',
    ({ task }) => task?.mode === 'emit',
    (contest) => `${payloadOf(contest)}, ${describeTask(taskOf(contest))}`
  )

/** Over NATS, ours beside Nest's and the bare driver. */
export const natsTable = (comparison: Comparison, runtime: Runtime): string =>
  ['request', 'stream']
    .map((mode) =>
      tableOf(
        comparison,
        runtime,
        ({ task }) => (task?.mode ?? 'request') === mode,
        (contest) => (mode === 'stream' ? describeTask(taskOf(contest)) : loadOf(contest)),
        OVER_NATS
      )
    )
    .join('\n\n')

/** What it costs a service to be counted and traced. */
export const watchedTable = (comparison: Comparison, runtime: Runtime): string =>
  tableOf(comparison, runtime, () => true, layoutOf, WATCHED)

export const startsTable = (comparison: Comparison, runtime: Runtime): string =>
  tableOf(
    comparison,
    runtime,
    ({ task }) => task?.mode === 'start',
    ({ runtime: under }) => (under === 'bun' ? 'under Bun' : 'under Node')
  )

/** Ours and the driver alone, with the same number in flight; and the relay, which nobody else has. */
export const durableTable = ({ contests }: Comparison): string =>
  wholeTable(
    contests.filter(({ task }) => task?.mode === 'durable'),
    (contest) => `${describeTask(taskOf(contest))}, under ${contest.runtime === 'bun' ? 'Bun' : 'Node'}`
  )

/** What large services cost the compiler. */
export const typesTable = ({ types }: Comparison): string =>
  types === undefined ? 'Not in this report.' : table(typesHeader, typesRows(types))

export const sizesTable = ({ sizes = [] }: Comparison): string =>
  table(
    sizesHeader,
    sizeRows(sizes).map(([target = '', ...cells]) => [titleOfTarget(target), ...cells])
  )

const tableOf = (
  { contests }: Comparison,
  runtime: Runtime,
  is: (contest: ContestResult) => boolean,
  nameOf: (contest: ContestResult) => string,
  scope?: string
): string =>
  wholeTable(
    contests.filter(
      (contest) =>
        contest.client === 'own' && contest.scope === scope && contest.runtime === runtime && is(contest)
    ),
    nameOf
  )

/** Nest's client, and raw sockets, ask both servers. */
export const sameClientTable = (comparison: Comparison): string =>
  wholeTable(
    comparison.contests.filter(({ client }) => client !== 'own'),
    ({ client, layout }) => `${client === 'nest' ? "Nest's client" : 'raw sockets'}, ${layoutOf({ layout })}`
  )

/** Of a slow reader there is nothing else to say. */
const comparesMemory = (contest: ContestResult): boolean => figuresOf(contest)[0] === 'rssPeak'

/** For each contest a row for everybody in it, and the ratio of ours to Nest's. */
function wholeTable(contests: readonly ContestResult[], nameOf: (contest: ContestResult) => string): string {
  const [first] = contests
  if (first === undefined) return 'Not in this report.'
  const { mode } = taskOf(first)
  const columns = comparesMemory(first) ? figuresOf(first) : COLUMNS[mode]
  const rows = contests.flatMap((contest) => [
    ...contest.results.map((result, index) => [
      `${index === 0 ? `**${nameOf(contest)}**: ` : ''}${titleOfTarget(result.target)}`,
      ...columns.map(
        (name) => `${shown(name, result.figures[name]?.median)}${name === columns[0] ? errorsOf(result) : ''}`
      ),
      runsOf(result.target, contest.rounds)
    ]),
    ...ratiosOf(contest).map((result) => ratioRow(result, columns))
  ])
  return table(['', ...columns.map((name) => titleOfFigure(name, first)), 'runs'], rows)
}

/** Of the peers' contests ours to Nest; of few, each to the first. */
const ratiosOf = ({ scope, results }: ContestResult): readonly TargetResult[] => {
  const compared = results.filter(({ ratioTo }) => ratioTo !== null)
  return scope === undefined ? compared.slice(0, 1) : compared
}

/** Who answers fast what it answers at all has not won. */
const errorsOf = ({ errors }: TargetResult): string => (errors === 0 ? '' : ` (${plural(errors, 'error')})`)

function ratioRow({ target, ratio, ratioTo }: TargetResult, columns: readonly Figure[]): string[] {
  const cells = columns.map((name) => {
    const range = ratio?.[name]
    if (range === null || range === undefined || name === 'sent') return '–'
    const digits = times(range.median)
    return name === columns[0] ? `**${digits}** (${range.min.toFixed(2)}–${range.max.toFixed(2)})` : digits
  })
  return [`${titleOfTarget(target)} ÷ ${titleOfTarget(ratioTo ?? '–')}`, ...cells, '']
}

/** Req/s by how much is asked at a time. */
export function concurrencyTable(comparison: Comparison, runtime: Runtime): string {
  const contests = comparison.contests.filter(
    (contest) => isEcho(contest) && contest.shape === 'flat' && contest.runtime === runtime
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
