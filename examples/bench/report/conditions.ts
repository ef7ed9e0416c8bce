/** The conditions of a comparison as text: the machine, the versions, how it was measured. */
import { isOurs, targetCalled } from '../peers/targets.ts'
import { suiteTarget } from '../suites/catalog.ts'
import { describeLoad } from '../suites/describe.ts'
import { taskOf } from '../task/task.ts'
import { plural } from './figures.ts'
import type { Comparison, Environment, Source, TargetResult } from './schema.ts'

export function describeConditions(comparison: Comparison): string[] {
  const { environment, options, sources } = comparison
  if (sources.length > 0) {
    return [
      ...sources.map(sourceInWords),
      'stored reports were not measured in turns: what differs between them may be the machine'
    ]
  }
  // In a suite, contests with many callers are measured for longer.
  const isVaried = comparison.contests.some(
    ({ part, task }) => part !== undefined || (task?.mode === 'suite' && task.suite === 'db')
  )
  return [
    ...gapsIn(comparison),
    ...(environment === null
      ? ['nothing could be measured']
      : describeMachine(environment, packagesIn(comparison))),
    ...(comparison.later ?? []).map(sourceInWords),
    isVaried
      ? 'measured in turns, as often and as long as the tables say'
      : `${plural(options.runs, 'run')} of ${options.duration} s after ${options.warmup} s of warm-up, in turns`,
    describeMethod(comparison)
  ]
}

function sourceInWords({ label, startedAt, commit, environment }: Source): string {
  const machine = environment === null ? 'nothing was measured' : machineOf(environment)
  return `${label}: ${startedAt.slice(0, 16).replace('T', ' ')} · commit ${commit ?? 'unknown'} · ${machine}`
}

/**
 * Sentences about what is missing in a report: runs that were cut off, peers that did not start, servers that ended.
 */
function gapsIn({ contests }: Comparison): string[] {
  const results = contests.flatMap((contest) => contest.results)
  const sum = (of: (result: TargetResult) => number) =>
    results.reduce((total, result) => total + of(result), 0)
  const missing = sum((result) => result.missing)
  if (missing === 0) return []
  const reasons = new Map<string, Map<string, number>>()
  for (const { target, missing: count, reason } of results) {
    if (count === 0) continue
    const names = reasons.get(reason!) ?? new Map<string, number>()
    reasons.set(reason!, names.set(target, (names.get(target) ?? 0) + count))
  }
  const counted = (names: Map<string, number>) =>
    [...names].map(([name, count]) => (count === 1 ? name : `${name} (${count} times)`)).join(', ')
  return [
    `INCOMPLETE: ${plural(missing, 'measurement')} of ${missing + sum(({ runs }) => runs)} missing`,
    ...[...reasons].map(([why, names]) => `missing: ${counted(names)}: ${why}`)
  ]
}

/** The packages that were measured. */
function packagesIn({ options: { targets }, contests }: Comparison): string[] {
  const task = taskOf(contests[0] ?? {})
  const names =
    task.mode === 'suite'
      ? targets.flatMap((name) => suiteTarget(task.suite, name)?.packages ?? [])
      : targets.flatMap((name) => targetCalled(name)?.package ?? [])
  return [...new Set(names)]
}

function describeMachine(environment: Environment, versions: readonly string[]): string[] {
  return [
    machineOf(environment),
    versions.map((name) => `${name} ${environment.packages[name] ?? 'of unknown version'}`).join(', ')
  ].filter((line) => line !== '')
}

function machineOf({ cpu, cpuCount, kernel, bun, node, pinning }: Environment): string {
  const versions = [
    ['Bun', bun],
    ['Node', node]
  ].filter(([, version]) => version !== null)
  const runtime = versions.map((pair) => pair.join(' ')).join(', ')
  const pinned = pinning.note ?? `server on CPU ${pinning.server}, client on CPU ${pinning.client}`
  return `${cpu}, ${plural(cpuCount, 'CPU')} · ${kernel} · ${runtime} · ${pinned}`
}

/** How figures are calculated from runs, and the settings of clients with several possibilities. */
function describeMethod(comparison: Comparison): string {
  const { base, options, contests } = comparison
  const task = taskOf(contests[0] ?? {})
  if (task.mode === 'suite') return `medians of the runs; ${describeLoad(comparison, task.suite)}`
  const { targets, protocol, codec, method } = options
  const own = targets.some((name) => isOurs(name))
    ? `; elysia's own client speaks ${protocol}, data as ${codec}`
    : ''
  const asked = method === 'send' ? '; elysia and nest ask by firstValueFrom(client.send())' : ''
  return `medians of the runs; ratios to ${base} are taken run by run${own}${asked}`
}
