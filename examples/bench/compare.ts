/** A comparison from its options to its result: run by run, contest by contest, the targets take turns. */
import { BenchError } from './errors.ts'
import type { ComparisonOptions } from './options/comparison-options.ts'
import { obstacleTo } from './options/obstacles.ts'
import { customShape, shapes } from './payload/payload.ts'
import { type ClientName, clients, isOurs, type TargetName, targets } from './peers/targets.ts'
import type { BenchFlags, BenchProcess } from './process/bench-process.ts'
import { currentCommit } from './process/commit.ts'
import { baseOf, isMeasured, type Outcome, type Round, summarize } from './report/comparison.ts'
import { layoutOf, loadOf, settingOf } from './report/contest.ts'
import { Schedule } from './report/schedule.ts'
import { type Comparison, type Contest, type Environment, SCHEMA, VERSION } from './report/schema.ts'

/** @param keep is told after every round what there is so far */
export async function compare(
  options: ComparisonOptions,
  command: string,
  bench: BenchProcess,
  keep: (soFar: Comparison) => Promise<unknown>
): Promise<Comparison> {
  const startedAt = new Date().toISOString()
  const commit = currentCommit()
  const contests = contestsOf(options)
  const schedule = new Schedule(countMeasurements(contests, options), options)
  const rounds = contests.map((): Round[] => [])
  const { runs, duration, warmup, method, protocol, codec } = options
  const soFar = (): Comparison => ({
    schema: SCHEMA,
    version: VERSION,
    startedAt,
    command,
    commit,
    options: {
      targets: options.targets,
      runs,
      duration,
      warmup,
      processes: options.processes,
      method,
      protocol,
      codec
    },
    base: baseOf(options.targets),
    environment: environmentOf(rounds.flat(2)),
    contests: contests.map((contest, index) => summarize(contest, rounds[index]!)),
    sources: []
  })
  for (let run = 0; run < runs; run++) {
    for (const [index, contest] of contests.entries()) {
      const round: Outcome[] = []
      for (const target of options.targets) {
        const obstacle = obstacleOf(target, contest)
        if (obstacle !== undefined) {
          round.push({ target, notMeasured: obstacle, failed: false })
          continue
        }
        schedule.announce(nameOf(target, contest, options))
        const flags = { ...flagsFor(target, contest, options), label: schedule.label }
        const outcome = await measure(target, flags, bench, limitOf(options))
        schedule.report(outcome)
        round.push(outcome)
      }
      rounds[index]!.push(round)
      await keep(soFar())
    }
  }
  return soFar()
}

/** All combinations; with one request at a time both layouts are the same. */
export function contestsOf(options: ComparisonOptions): Contest[] {
  const { runtimes, clients: asking, payloads, concurrency, layouts } = options
  return runtimes.flatMap((runtime) =>
    asking.flatMap((client) =>
      payloads.flatMap(({ shape, payload }) =>
        layouts.flatMap((layout) =>
          concurrency
            .filter((callers) => callers > 1 || layouts.indexOf(layout) === 0)
            .map((callers) => ({
              client,
              layout,
              // Load processes cannot share a connection: each has its own.
              connections: layout === 'shared' ? options.processes : callers,
              concurrency: callers,
              pattern: options.custom?.pattern ?? null,
              shape,
              payload,
              runtime,
              // Where to begin looking is no part of what is compared.
              rate: options.sloMs === null ? options.rate : null,
              sloMs: options.sloMs
            }))
        )
      )
    )
  )
}

function countMeasurements(
  contests: readonly Contest[],
  { targets: names, runs }: ComparisonOptions
): number {
  const possible = contests.flatMap((contest) =>
    names.filter((target) => obstacleOf(target, contest) === undefined)
  )
  return possible.length * runs
}

function obstacleOf(target: TargetName, { client, connections }: Contest): string | undefined {
  return obstacleTo(target, clientOf(target, client), connections)
}

function clientOf(target: TargetName, client: Contest['client']): ClientName {
  return client === 'own' ? targets[target].client : client
}

function nameOf(target: TargetName, contest: Contest, options: ComparisonOptions): string {
  const { payloads, runtimes, concurrency } = options
  return [
    target,
    layoutOf(contest),
    ...(contest.client === 'own' ? [] : [`${contest.client} client`]),
    ...(concurrency.length > 1 ? [loadOf(contest)] : []),
    ...(payloads.length > 1 || runtimes.length > 1 ? [settingOf(contest)] : [])
  ].join(', ')
}

function flagsFor(target: TargetName, contest: Contest, options: ComparisonOptions): BenchFlags {
  const { connections, concurrency, shape, payload, runtime } = contest
  const client = clientOf(target, contest.client)
  const { choices } = clients[client]
  const ours = client === 'elysia' && isOurs(target)
  return {
    target,
    client,
    connections,
    concurrency,
    duration: options.duration,
    warmup: options.warmup,
    ...(shape !== customShape && { shape }),
    processes: options.processes,
    ...(options.rate !== null && { rate: options.rate }),
    ...(options.sloMs !== null && { 'find-capacity': true, slo: options.sloMs }),
    ...(shape !== customShape && shapes[shape].defaultBytes !== undefined && { payload }),
    runtime,
    ...(choices.includes('method') && { method: options.method }),
    ...(ours && { protocol: options.protocol }),
    ...(ours && options.protocol === 'rsocket' && { codec: options.codec }),
    // Always a server of our own, whatever else runs on this machine.
    port: 0,
    ...options.custom?.flags
  }
}

/** Seconds that no measurement takes that is not stuck. A search for a rate has many trials. */
function limitOf({ warmup, duration, sloMs }: ComparisonOptions): number {
  const trials = sloMs === null ? 1 : 60
  return 60 + trials * (warmup + duration + 10)
}

async function measure(
  target: TargetName,
  flags: BenchFlags,
  bench: BenchProcess,
  limit: number
): Promise<Outcome> {
  try {
    return await bench.measure(flags, { limit })
  } catch (error) {
    // One peer that cannot be measured is a result, too, and does not take the others with it.
    if (error instanceof BenchError) return { target, notMeasured: error.message, failed: true }
    throw error
  }
}

/** Of the first measurement, with the versions of all runtimes. */
function environmentOf(outcomes: readonly Outcome[]): Environment | null {
  const all = outcomes.filter(isMeasured).map(({ environment }) => environment)
  const version = (runtime: 'bun' | 'node') => all.find((one) => one[runtime] !== null)?.[runtime] ?? null
  return all[0] === undefined ? null : { ...all[0], bun: version('bun'), node: version('node') }
}
