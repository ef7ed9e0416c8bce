/** Elysia against Nest: `bun run bench`. Each measurement is a process of its own, the two sides take turns. */
import { mkdir } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import {
  type ComparisonOptions,
  comparisonUsage,
  readComparisonOptions
} from './options/comparison-options.ts'
import { BenchProcess } from './process/bench-process.ts'
import { print, runCommand } from './process/main.ts'
import { type Comparison, type Contest, type Pair, summarize } from './report/comparison.ts'
import type { Measurement } from './report/measurement.ts'
import { Schedule } from './report/schedule.ts'
import { renderComparison, shapeOf } from './report/table.ts'
import { type TargetName, targetNames } from './targets/targets.ts'

const bench = new BenchProcess()

await runCommand(
  async () => {
    const options = readComparisonOptions(process.argv.slice(2))
    if (options === 'help') {
      await print(comparisonUsage)
      return 0
    }
    const comparison = await compare(options)
    const file = options.out ?? join(import.meta.dirname, 'results', 'latest.json')
    await mkdir(dirname(file), { recursive: true })
    await Bun.write(file, `${JSON.stringify(comparison, null, 2)}\n`)
    await print(`${renderComparison(comparison)}\nAll figures: ${relative('.', file)}\n`)
    return comparison.contests.every(({ errors }) => errors.elysia + errors.nest === 0) ? 0 : 1
  },
  () => bench.stop()
)

async function compare({ out: _, ...options }: ComparisonOptions): Promise<Comparison> {
  const startedAt = new Date().toISOString()
  const contests = contestsOf(options)
  const schedule = new Schedule(contests.length * options.runs * targetNames.length, options)
  const pairs = contests.map((): Pair[] => [])
  for (let run = 0; run < options.runs; run++) {
    for (const [index, contest] of contests.entries()) {
      const elysia = await measure('elysia', contest, options, schedule)
      const nest = await measure('nest', contest, options, schedule)
      pairs[index]!.push({ elysia, nest })
    }
  }
  return {
    startedAt,
    options,
    environment: pairs[0]![0]!.elysia.environment,
    contests: contests.map((contest, index) => summarize(contest, pairs[index]!))
  }
}

/** Both shapes for each kind of client; with one request at a time they are the same. */
function contestsOf({ clients, concurrency }: Pick<ComparisonOptions, 'clients' | 'concurrency'>): Contest[] {
  const shapes = concurrency === 1 ? [1] : [concurrency, 1]
  return clients.flatMap((client) => shapes.map((connections) => ({ client, connections })))
}

function measure(
  target: TargetName,
  { client, connections }: Contest,
  { concurrency, duration, warmup, payload, runtime, protocol }: Omit<ComparisonOptions, 'out'>,
  schedule: Schedule
): Promise<Measurement> {
  const who = client === 'own' ? '' : `, ${client} client`
  schedule.announce(`${target}, ${shapeOf(connections, concurrency)}${who}`)
  // Port 0: always a server of our own, whatever else runs on this machine.
  return bench.measure({
    target,
    client,
    connections,
    concurrency,
    duration,
    warmup,
    payload,
    runtime,
    ...(target === 'elysia' && client === 'own' && { protocol }),
    port: 0
  })
}
