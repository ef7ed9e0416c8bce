/** Peers against each other: `bun run bench`. Each measurement is a process of its own, the targets take turns. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { BenchError } from './errors.ts'
import {
  type ComparisonOptions,
  comparisonUsage,
  readComparisonOptions
} from './options/comparison-options.ts'
import { obstacleTo } from './options/obstacles.ts'
import { shapes } from './payload/payload.ts'
import { BenchProcess } from './process/bench-process.ts'
import { BENCH_FOLDER } from './process/folder.ts'
import { print, runCommand } from './process/main.ts'
import {
  baseOf,
  type Comparison,
  type Contest,
  isClean,
  isMeasured,
  type Outcome,
  type Round,
  summarize
} from './report/comparison.ts'
import { Schedule } from './report/schedule.ts'
import { layoutOf, renderComparison } from './report/table.ts'
import { type ClientName, clients, isOurs, type TargetName, targets } from './targets/targets.ts'

type Options = Omit<ComparisonOptions, 'out'>

const bench = new BenchProcess()

await runCommand(
  async () => {
    const options = readComparisonOptions(process.argv.slice(2))
    if (options === 'help') {
      await print(comparisonUsage)
      return 0
    }
    const comparison = await compare(options)
    const file = options.out ?? join(BENCH_FOLDER, 'results', 'latest.json')
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, `${JSON.stringify(comparison, null, 2)}\n`)
    await print(`${renderComparison(comparison)}\nAll figures: ${relative('.', file)}\n`)
    return isClean(comparison) ? 0 : 1
  },
  () => bench.stop()
)

async function compare({ out: _, ...options }: ComparisonOptions): Promise<Comparison> {
  const startedAt = new Date().toISOString()
  const contests = contestsOf(options)
  const schedule = new Schedule(countMeasurements(contests, options), options)
  const rounds = contests.map((): Round[] => [])
  for (let run = 0; run < options.runs; run++) {
    for (const [index, contest] of contests.entries()) {
      const round: Outcome[] = []
      for (const target of options.targets) round.push(await measure(target, contest, options, schedule))
      rounds[index]!.push(round)
    }
  }
  return {
    startedAt,
    options,
    base: baseOf(options.targets),
    environment: rounds.flat(2).find(isMeasured)?.environment ?? null,
    contests: contests.map((contest, index) => summarize(contest, rounds[index]!))
  }
}

/** Both layouts for each kind of client; with one request at a time they are the same. */
function contestsOf({ clients, concurrency }: Pick<Options, 'clients' | 'concurrency'>): Contest[] {
  const layouts = concurrency === 1 ? [1] : [concurrency, 1]
  return clients.flatMap((client) => layouts.map((connections) => ({ client, connections })))
}

function countMeasurements(contests: readonly Contest[], { targets, runs }: Options): number {
  const possible = contests.flatMap((contest) =>
    targets.filter((target) => obstacleOf(target, contest) === undefined)
  )
  return possible.length * runs
}

function obstacleOf(target: TargetName, { client, connections }: Contest): string | undefined {
  return obstacleTo(target, clientOf(target, client), connections)
}

function clientOf(target: TargetName, client: Contest['client']): ClientName {
  return client === 'own' ? targets[target].client : client
}

async function measure(
  target: TargetName,
  contest: Contest,
  options: Options,
  schedule: Schedule
): Promise<Outcome> {
  const obstacle = obstacleOf(target, contest)
  if (obstacle !== undefined) return { target, notMeasured: obstacle, failed: false }
  const { connections } = contest
  const { concurrency, duration, warmup, shape, payload, runtime } = options
  const who = contest.client === 'own' ? '' : `, ${contest.client} client`
  schedule.announce(`${target}, ${layoutOf(connections, concurrency)}${who}`)
  const client = clientOf(target, contest.client)
  const { choices } = clients[client]
  const ours = client === 'elysia' && isOurs(target)
  try {
    return await bench.measure({
      target,
      client,
      connections,
      concurrency,
      duration,
      warmup,
      shape,
      ...(shapes[shape].defaultBytes !== undefined && { payload }),
      runtime,
      ...(choices.includes('method') && { method: options.method }),
      ...(ours && { protocol: options.protocol }),
      ...(ours && options.protocol === 'rsocket' && { codec: options.codec }),
      // Always a server of our own, whatever else runs on this machine.
      port: 0
    })
  } catch (error) {
    // One peer that cannot be measured is a result, too, and does not take the others with it.
    if (error instanceof BenchError) return { target, notMeasured: error.message, failed: true }
    throw error
  }
}
