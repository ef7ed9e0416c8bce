/** The conditions of a comparison in words: the machine, the versions, how it was measured. */
import { isOurs, type TargetName, targetCalled } from '../peers/targets.ts'
import { plural } from './figures.ts'
import type { Comparison, Environment } from './schema.ts'

export function describeConditions(comparison: Comparison): string[] {
  const { environment, options, sources } = comparison
  if (sources.length > 0) {
    return [
      ...sources.map(({ label, startedAt, commit, environment: of }) => {
        const machine = of === null ? 'nothing was measured' : machineOf(of)
        return `${label}: ${startedAt.slice(0, 16).replace('T', ' ')} · commit ${commit ?? 'unknown'} · ${machine}`
      }),
      'stored reports were not measured in turns: what differs between them may be the machine'
    ]
  }
  return [
    ...(environment === null ? ['nothing could be measured'] : describeMachine(environment, options.targets)),
    `${plural(options.runs, 'run')} of ${options.duration} s after ${options.warmup} s of warm-up, in turns`,
    describeMethod(comparison)
  ]
}

function describeMachine(environment: Environment, names: readonly string[]): string[] {
  const versions = [...new Set(names.flatMap((name) => targetCalled(name)?.package ?? []))]
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

/** How figures are made of runs, and what was chosen for the clients that let one choose. */
function describeMethod({ base, options }: Comparison): string {
  const { targets, protocol, codec, method } = options
  const own = targets.some((name) => isOurs(name as TargetName))
    ? `; elysia's own client speaks ${protocol}, data as ${codec}`
    : ''
  const asked = method === 'send' ? '; elysia and nest ask by firstValueFrom(client.send())' : ''
  return `medians of the runs; ratios to ${base} are taken run by run${own}${asked}`
}
