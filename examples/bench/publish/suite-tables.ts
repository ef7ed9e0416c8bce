/** The tables of the documentation with results of the suites, generated from the published reports. */

import { LABEL } from '../peers/targets.ts'
import { describeTask } from '../report/contest.ts'
import { type Figure, plural, times, titleOfFigure } from '../report/figures.ts'
import type { Comparison, ContestResult, TargetResult } from '../report/schema.ts'
import { type SuiteName, taskOf } from '../task/task.ts'
import { type Block, shown, table } from './cells.ts'

/** The text in place of a report that does not exist yet. */
export const NOT_MEASURED = '*Not measured yet: `npm run bench:publish` writes this.*'

const TITLES: Readonly<Record<string, string>> = {
  bun: '`Bun.serve` alone',
  node: '`node:http` alone',
  elysia: 'Elysia',
  'elysia-service': 'Elysia with one of our services in it',
  wynkjs: 'WynkJS',
  hono: 'Hono',
  fastify: 'Fastify',
  express: 'Express',
  'nest-express': 'Nest on Express',
  'nest-fastify': 'Nest on Fastify',
  fiber: 'Fiber (Go)',
  'elysia-gateway': 'our gateway and a service behind it',
  'nest-gateway': 'Nest as a gateway and a service behind it',
  service: 'our service, by messages',
  'service-leases': 'the same, clients with leases',
  'service-retries': 'the same, clients that retry',
  'service-no-limit': 'our service without a limit',
  'nest-service': 'Nest service, by messages',
  websocket: 'this',
  'trpc-ws': 'tRPC, `wsLink`',
  'trpc-batch': 'tRPC, `httpBatchLink`; streams by SSE',
  eden: 'Eden; streams by SSE',
  gateway: 'our gateway by `fetch`; streams by SSE'
}

/** A title for a target: `hono @ node` → `Hono, on Node` */
function titleOf(name: string): string {
  const [target, label] = name.split(LABEL)
  const title = TITLES[target!] ?? target!
  if (label === undefined) return title
  return `${title}, ${label === 'node' ? 'on Node' : label}`
}

const workloadOf = (contest: ContestResult): string => {
  const task = taskOf(contest)
  return task.mode === 'suite' ? task.workload : ''
}

const isMeasured = ({ runs }: TargetResult): boolean => runs > 0

/** The machine and the versions. How a suite loads its servers is described in its report (`report/conditions.ts`). */
function suiteConditions(comparison: Comparison, suite: SuiteName): string {
  const { environment, startedAt, options, contests } = comparison
  if (environment === null) return 'Nothing could be measured.'
  const { cpu, cpuCount, kernel, bun, packages } = environment
  // With a database, contests with many callers are measured for longer.
  const durations = [
    ...new Set(contests.flatMap(({ results }) => results.flatMap(({ seconds }) => seconds ?? [])))
  ].toSorted((a, b) => a - b)
  const peer = suite === 'web' ? `tRPC ${packages['@trpc/server']}` : `Nest ${packages['@nestjs/core']}`
  const caveat = options.duration < 1 ? '**Preliminary, from a short run.** ' : ''
  return (
    `${caveat}${plural(options.runs, 'interleaved run')} of ${durations.join(' or ')} s (${startedAt.slice(0, 10)}) on a machine with ` +
    `${plural(cpuCount, 'core')} (${cpu}, ${kernel}), Bun ${bun}, Elysia ${packages['elysia']}, ${peer}. ` +
    `[The whole report](docs/benchmarks/${suite}.md) has all figures and the method.`
  )
}

function tableOf(contest: ContestResult, figures: readonly Figure[], names?: readonly string[]): string {
  const rows = contest.results
    .filter(({ target }) => names === undefined || names.includes(target))
    .flatMap((result) => [
      [titleOf(result.target), ...figures.map((name) => cellOf(result, name))],
      ...ratioRow(result, figures)
    ])
  return table(['', ...figures.map((name) => titleOfFigure(name, contest))], rows)
}

/** The cell of a target, or the reason why it has no figures. */
function cellOf(result: TargetResult, name: Figure): string {
  if (!isMeasured(result) && name === 'rps') return result.reason ?? 'not measured'
  return shown(name, result.figures[name]?.median)
}

function ratioRow({ target, ratio, ratioTo }: TargetResult, figures: readonly Figure[]): string[][] {
  if (ratio?.rps == null) return []
  const cells = figures.map((name) => times(ratio[name]?.median))
  return [[`*${titleOf(target)} ÷ ${titleOf(ratioTo ?? '')}*`, `**${cells[0]}**`, ...cells.slice(1)]]
}

const HEADLINE = [
  ...['bun', 'elysia', 'elysia-service', 'wynkjs', 'hono', 'fastify @ node', 'express @ node'],
  ...['nest-fastify @ node', 'nest-express @ node', 'fiber', 'elysia-gateway', 'nest-gateway']
]

/** A table of one workload of HTTP; the report has the others. */
function httpTable(comparison: Comparison): string {
  const contest = comparison.contests.find((one) => workloadOf(one) === 'health')
  if (contest === undefined) return NOT_MEASURED
  return `${suiteConditions(comparison, 'http')}\n\n${tableOf(contest, ['rps', 'p99', 'serverCpuUsPerRequest', 'serverRssMb'], HEADLINE)}`
}

/** A table of goodput and success for all targets, by the number of callers. */
function callersTable({ contests }: Comparison, workload: string): string {
  const own = contests.filter((one) => workloadOf(one) === workload)
  const [first] = own
  if (first === undefined) return NOT_MEASURED
  const rows = first.results.map(({ target }) => [
    titleOf(target),
    ...own.map(({ results }) => {
      const { figures, reason } = results.find((one) => one.target === target)!
      return figures.rps == null
        ? (reason ?? '–')
        : `${shown('rps', figures.rps.median)}, ${(figures.successRate?.median ?? 0).toFixed(1)} %`
    })
  ])
  return table(['answers/s, success', ...own.map(({ concurrency }) => plural(concurrency, 'caller'))], rows)
}

const CROWD: readonly Figure[] = [
  'rps',
  'successRate',
  'p50',
  'p99',
  'refused',
  'refusedP50',
  'refusedP99',
  'failedP50'
]

/** A table for the most callers: what happens to those without an answer. */
function crowdTable({ contests }: Comparison, workload: string): string {
  const contest = contests
    .filter((one) => workloadOf(one) === workload)
    .toSorted((a, b) => b.concurrency - a.concurrency)[0]
  return contest === undefined
    ? NOT_MEASURED
    : `${describeTask(taskOf(contest))}, ${plural(contest.concurrency, 'caller')}:\n\n${tableOf(contest, CROWD)}`
}

/** The effect of a limit, in two sentences. */
function dbSentence({ contests }: Comparison): string {
  const contest = contests
    .filter((one) => workloadOf(one) === 'slow')
    .toSorted((a, b) => b.concurrency - a.concurrency)[0]
  const figuresOf = (name: string) => contest?.results.find(({ target }) => target === name)?.figures
  const ours = figuresOf('service')
  const leases = figuresOf('service-leases')
  const others =
    contest?.results.filter(({ target }) => !target.startsWith('service') && !target.startsWith('elysia-')) ??
    []
  const rates = others.flatMap(({ figures }) => figures.successRate?.median ?? [])
  if (contest === undefined || ours?.rps == null || leases?.successRate == null || rates.length === 0)
    return NOT_MEASURED
  return (
    `In front of a database with a pool of 20 connections and ${plural(contest.concurrency, 'caller')}, a service with \`limits.inFlight\` ` +
    `answers ${shown('rps', ours.rps.median)} requests a second and refuses the rest within ${shown('refusedP99', ours.refusedP99?.median)} ms (p99). ` +
    `With leases, ${leases.successRate.median.toFixed(1)} % of all requests are answered; the other servers answer ` +
    `${Math.min(...rates).toFixed(0)} to ${Math.max(...rates).toFixed(0)} %:`
  )
}

/** A table of a page's figures, and of the server's memory while a page does not read. */
function webTable(comparison: Comparison): string {
  const { contests } = comparison
  const columns = [
    ['request', 1, 'rps', 'requests/s, 1 in flight'],
    ['request', 1, 'p50', 'p50 ms'],
    ['request', 32, 'rps', 'requests/s, 32 in flight'],
    ['request', 32, 'p99', 'p99 ms'],
    ['http2', 32, 'rps', 'the same over HTTP/2'],
    ['stream', 1, 'rps', 'values/s'],
    ['still', 1, 'rssIdle', 'server at rest, MiB'],
    ['still', 1, 'rssPeak', 'beside a page that stands still, MiB']
  ] as const
  const rows = comparison.options.targets
    .flatMap((name) => [name, `${name}${LABEL}node`])
    .map((name) => [
      titleOf(name),
      ...columns.map(([workload, callers, figure]) => {
        const contest = contests.find((one) => workloadOf(one) === workload && one.concurrency === callers)
        return shown(figure, contest?.results.find(({ target }) => target === name)?.figures[figure]?.median)
      })
    ])
    .filter(([, ...cells]) => cells.some((cell) => cell !== '–'))
  return `${suiteConditions(comparison, 'web')}\n\n${table(['', ...columns.map(([, , , title]) => title)], rows)}`
}

const conditions =
  (suite: SuiteName): Block =>
  (comparison) =>
    suiteConditions(comparison, suite)

/** The generated texts by the names of their markers, from the reports of the suites. */
export const SUITE_BLOCKS: Readonly<Record<SuiteName, Readonly<Record<string, Block>>>> = {
  http: { http: httpTable },
  pairs: {},
  db: {
    'db sentence': dbSentence,
    'db conditions': conditions('db'),
    'db callers': (comparison) => callersTable(comparison, 'slow'),
    'db crowd': (comparison) => crowdTable(comparison, 'slow')
  },
  scale: {},
  web: { web: webTable }
}
