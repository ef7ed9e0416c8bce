/** The tables of the suites in the documentation, made of their published reports. */

import { LABEL } from '../peers/targets.ts'
import { isMeasured as isOutcomeMeasured } from '../report/comparison.ts'
import { describeTask } from '../report/contest.ts'
import { type Figure, plural, times, titleOfFigure } from '../report/figures.ts'
import type { Comparison, ContestResult, TargetResult } from '../report/schema.ts'
import { sizeRows, sizesHeader } from '../report/sections.ts'
import { describeLoad } from '../suites/describe.ts'
import { type SuiteName, taskOf } from '../task/task.ts'
import { shown, table } from './cells.ts'

/** What stands where a report should be that is not there yet. */
export const NOT_MEASURED = '*Not measured yet: `npm run bench:publish` writes this.*'

const TITLES: Readonly<Record<string, string>> = {
  bun: '`Bun.serve` alone',
  node: '`node:http` alone',
  elysia: 'Elysia',
  'elysia-service': 'Elysia with a service of ours in it',
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
  'nest-service': 'Nest service, by messages'
}

/** `hono @ node` → `Hono, on Node` */
export function titleOf(name: string): string {
  const [target, label] = name.split(LABEL)
  const title = TITLES[target!] ?? target!
  if (label === undefined) return title
  return `${title}, ${label === 'node' ? 'on Node' : label}`
}

const workloadOf = (contest: ContestResult): string => {
  const task = taskOf(contest)
  return task.mode === 'suite' ? task.workload : ''
}

const isMeasured = ({ figures }: TargetResult): boolean => figures.rps !== null

/** The machine, the versions and how it was measured. */
export function suiteConditions(comparison: Comparison, suite: SuiteName): string {
  const { environment, startedAt, options, contests } = comparison
  if (environment === null) return 'Nothing could be measured.'
  const { cpu, cpuCount, kernel, bun, packages } = environment
  const measured = contests.flatMap(({ rounds }) => rounds.flat()).filter(isOutcomeMeasured)
  // Many callers of a database are measured for longer.
  const durations = [...new Set(measured.map(({ duration }) => duration))].toSorted((a, b) => a - b)
  const caveat = options.duration < 1 ? '**Preliminary, from a short run.** ' : ''
  return (
    `${caveat}${plural(options.runs, 'interleaved run')} of ${durations.join(' or ')} s (${startedAt.slice(0, 10)}) on a machine with ` +
    `${plural(cpuCount, 'core')} (${cpu}, ${kernel}), Bun ${bun}, Elysia ${packages['elysia']}, Nest ${packages['@nestjs/core']}; ` +
    `${describeLoad(comparison, suite)}. [The whole report](docs/benchmarks/${suite}.md) has every figure.`
  )
}

const FIGURES: readonly Figure[] = [
  ...(['rps', 'successRate', 'average', 'min', 'p50', 'p90', 'p95', 'p99', 'max'] as const),
  ...(['serverCpuUsPerRequest', 'rssIdle', 'serverRssMb', 'firstAnswerMs'] as const)
]

/** Everybody in one workload, with all figures. */
export function workloadTable({ contests }: Comparison, workload: string): string {
  const contest = contests.find((one) => workloadOf(one) === workload)
  return contest === undefined ? NOT_MEASURED : tableOf(contest, FIGURES)
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

/** A target without figures says why. */
function cellOf(result: TargetResult, name: Figure): string {
  if (!isMeasured(result) && name === 'rps') return result.reason ?? 'not measured'
  return shown(name, result.figures[name]?.median)
}

function ratioRow({ target, ratio, ratioTo }: TargetResult, figures: readonly Figure[]): string[][] {
  if (ratio?.rps == null) return []
  const cells = figures.map((name) => times(ratio[name]?.median))
  return [[`*${titleOf(target)} ÷ ${titleOf(ratioTo ?? '')}*`, `**${cells[0]}**`, ...cells.slice(1)]]
}

/** Req/s of everybody in every workload. */
export function requestsTable({ contests }: Comparison): string {
  const [first] = contests
  if (first === undefined) return NOT_MEASURED
  const names = first.results.map(({ target }) => target)
  const cell = (contest: ContestResult, name: string) => {
    const result = contest.results.find(({ target }) => target === name)
    return result === undefined ? '–' : shown('rps', result.figures.rps?.median)
  }
  const rows = names.map((name) => {
    const result = first.results.find(({ target }) => target === name)!
    const reason = isMeasured(result) || result.failed ? '' : `: ${result.reason}`
    return [`${titleOf(name)}${reason}`, ...contests.map((contest) => cell(contest, name))]
  })
  return table(['req/s', ...contests.map((contest) => workloadOf(contest))], rows)
}

const OF_PAIRS: readonly Figure[] = ['rps', 'p50', 'p99', 'serverCpuUsPerRequest', 'serverRssMb']

/** Each pair in every workload: the median of what its runs give, and of req/s the lowest and highest of them. */
export function pairsTable({ contests }: Comparison): string {
  const pairs = contests[0]?.results.filter(({ ratioTo }) => ratioTo !== null) ?? []
  const rows = pairs.flatMap(({ target, ratioTo }) =>
    contests.map((contest, index) => {
      const { ratio } = contest.results.find((one) => one.target === target)!
      const pair = index === 0 ? `**${titleOf(target)} ÷ ${titleOf(ratioTo!)}**: ` : ''
      const [rps, ...others] = OF_PAIRS.map((name) => times(ratio?.[name]?.median))
      const { min, max } = ratio?.rps ?? {}
      const range = min === undefined || max === undefined ? '' : ` (${min.toFixed(2)}–${max.toFixed(2)})`
      return [`${pair}${workloadOf(contest)}`, `**${rps}**${range}`, ...others]
    })
  )
  const [first] = contests
  return first === undefined
    ? NOT_MEASURED
    : table(['', ...OF_PAIRS.map((name) => titleOfFigure(name, first))], rows)
}

const HEADLINE = [
  ...['bun', 'elysia', 'elysia-service', 'wynkjs', 'hono', 'fastify @ node', 'express @ node'],
  ...['nest-fastify @ node', 'nest-express @ node', 'fiber', 'elysia-gateway', 'nest-gateway']
]

/** What README.md shows of HTTP. */
export function httpHeadline(comparison: Comparison): string {
  const contest = comparison.contests.find((one) => workloadOf(one) === 'health')
  if (contest === undefined) return NOT_MEASURED
  return `${suiteConditions(comparison, 'http')}\n\n${tableOf(contest, ['rps', 'p99', 'serverCpuUsPerRequest', 'serverRssMb'], HEADLINE)}`
}

/** Goodput and success of everybody by how many ask. */
export function callersTable({ contests }: Comparison, workload: string): string {
  const own = contests.filter((one) => workloadOf(one) === workload)
  const [first] = own
  if (first === undefined) return NOT_MEASURED
  const rows = first.results.map(({ target }) => [
    titleOf(target),
    ...own.map(({ results }) => {
      const { figures, reason } = results.find((one) => one.target === target)!
      return figures.rps === null
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

/** Where most ask: what becomes of those who are not answered. */
export function crowdTable({ contests }: Comparison, workload: string): string {
  const contest = contests
    .filter((one) => workloadOf(one) === workload)
    .toSorted((a, b) => b.concurrency - a.concurrency)[0]
  return contest === undefined
    ? NOT_MEASURED
    : `${describeTask(taskOf(contest))}, ${plural(contest.concurrency, 'caller')}:\n\n${tableOf(contest, CROWD)}`
}

/** What README.md says of databases: one sentence. */
export function dbSentence({ contests }: Comparison): string {
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
    `**In front of a database** with a pool of 20 and ${plural(contest.concurrency, 'caller')}, a service with \`limits.inFlight\` ` +
    `answers ${shown('rps', ours.rps.median)} requests a second and tells the rest within ${shown('refusedP99', ours.refusedP99?.median)} ms (p99) that it is busy; ` +
    `of callers with leases ${leases.successRate.median.toFixed(1)} % are answered, of those of others ` +
    `${Math.min(...rates).toFixed(0)} to ${Math.max(...rates).toFixed(0)} %: [what to set](docs/databases.md).`
  )
}

export function scaleTable({ contests }: Comparison): string {
  const rows = contests.flatMap((contest) =>
    contest.results.map((result, index) => [
      `${index === 0 ? `**${describeTask(taskOf(contest))}**: ` : ''}${result.target.split(LABEL)[1] ?? ''}`,
      ...(['rps', 'perWorker', 'p99', 'serverCpuUsPerRequest'] as const).map((name) => cellOf(result, name))
    ])
  )
  return table(['', 'req/s', 'req/s per worker', 'p99 ms', 'server µs/req'], rows)
}

export const suiteSizes = ({ sizes = [] }: Comparison): string =>
  table(
    sizesHeader,
    sizeRows(sizes).map(([target = '', ...cells]) => [titleOf(target), ...cells])
  )
