/** The plan of a suite: a contest for each workload and number of callers, in which all targets take turns. */
import { cpus } from 'node:os'
import type { Entrant, Job, Part, Plan, PlannedContest } from '../plan.ts'
import type { BenchFlags } from '../process/bench-process.ts'
import { obstacleToBrowser } from '../process/browser.ts'
import type { Contest } from '../report/schema.ts'
import { type SuiteTask, taskOf } from '../task/task.ts'
import { type SuiteTarget, suites } from './catalog.ts'
import type { SuiteComparison } from './options.ts'
import { obstacleToFiber } from './server.ts'
import { payloadOfWorkload, subjectOf } from './workloads.ts'

/**
 * With this many callers, a measurement takes longer: they need time until their rate is steady, and longer than they
 * wait for a connection.
 */
const CROWD = 1_000
const OF_CROWD = { duration: 4, warmup: 2.5 }

export function suitePlan(options: SuiteComparison): Plan {
  const { suite, runs, duration, warmup } = options
  // Contests with the same times form a part, in which all targets take turns.
  const parts = new Map<string, Part & { readonly contests: PlannedContest[] }>()
  for (const workload of options.workloads)
    for (const callers of suites[suite].workloads[workload]!.callers ?? options.callers) {
      const most = suites[suite].workloads[workload]!.runs ?? runs
      const times = { runs: Math.min(runs, most), ...timesOf(options, workload, callers) }
      const key = JSON.stringify(times)
      const part = parts.get(key) ?? { ...times, contests: [] }
      part.contests.push(contestOf(options, workload, callers))
      parts.set(key, part)
    }
  return {
    parts: [...parts.values()].toSorted((a, b) => a.duration - b.duration),
    options: {
      targets: options.targets,
      runs,
      duration,
      warmup,
      processes: 1,
      method: 'request',
      protocol: 'rsocket',
      codec: 'json'
    },
    load: { rate: null, sloMs: null, processes: 1, custom: null },
    patience: options.patience,
    within: options.within,
    suite: { name: suite, tool: options.tool, database: undefined }
  }
}

function timesOf(
  { suite, duration, warmup, isShortened }: SuiteComparison,
  workload: string,
  callers: number
) {
  if (isShortened) return { duration, warmup }
  if (callers >= CROWD) return OF_CROWD
  return { duration: suites[suite].workloads[workload]!.duration ?? duration, warmup }
}

function contestOf(options: SuiteComparison, workload: string, callers: number): PlannedContest {
  const { suite } = options
  const { asked } = suites[suite].workloads[workload]!
  const contest: Contest = {
    client: 'own',
    task: { mode: 'suite', suite, workload },
    layout: 'per-client',
    connections: callers,
    concurrency: callers,
    pattern: subjectOf(asked, workload),
    shape: 'custom',
    payload: payloadOfWorkload(asked),
    runtime: 'bun',
    rate: null,
    sloMs: null
  }
  return { contest, entrants: suite === 'scale' ? byWorkers(workload) : entrantsOf(options, workload) }
}

/** All targets on their usual runtime, one after the other, and then again on their other runtime. */
function entrantsOf(
  { suite, targets, runtimes: chosen, workloads }: SuiteComparison,
  workload: string
): Entrant[] {
  const all = targets.flatMap((name) => {
    const target = suites[suite].targets[name]!
    // A target that cannot be installed is listed only once.
    if (target.absent !== undefined && workload !== workloads[0]) return []
    return target.runtimes.map((runtime, index): Entrant & { readonly index: number } => ({
      target: name,
      index,
      ...(index > 0 && { label: runtime }),
      ...(runtime !== 'go' && { runtime })
    }))
  })
  return all
    .filter(({ runtime }) => runtime === undefined || chosen.includes(runtime))
    .toSorted((a, b) => a.index - b.index)
    .map(({ index: _, ...entrant }) => entrant)
}

/** The numbers of workers: 1, 2, 4 and so on, and as many as there are processors. */
function byWorkers(workload: string): Entrant[] {
  const { length } = cpus()
  const powers = Array.from({ length: Math.ceil(Math.log2(length)) + 1 }, (_, power) => 2 ** power)
  const counts = [...new Set([...powers.filter((count) => count < length), length])]
  return counts.map((workers) => ({
    target: workload,
    label: workers === 1 ? '1 worker' : `${workers} workers`,
    workers
  }))
}

export const suiteTaskOf = ({ contest }: Pick<Job, 'contest'>): SuiteTask | undefined => {
  const task = taskOf(contest)
  return task.mode === 'suite' ? task : undefined
}

const targetOf = (task: SuiteTask, { target }: Entrant): SuiteTarget => suites[task.suite].targets[target]!

/** Why a job of a suite cannot be done by its nature. */
export function obstacleInSuite(task: SuiteTask, entrant: Entrant): string | undefined {
  const { absent, lacks, runtimes: able, page } = targetOf(task, entrant)
  const obstacle = absent ?? lacks?.[task.workload]
  if (obstacle !== undefined) return obstacle
  if (page !== undefined) return obstacleToBrowser()
  return able.includes('go') ? obstacleToFiber() : undefined
}

export function flagsOfSuite(job: Job, task: SuiteTask, { suite }: Plan): BenchFlags {
  const { entrant, contest, part } = job
  const [runtime] = targetOf(task, entrant).runtimes
  return {
    suite: task.suite,
    workload: task.workload,
    target: entrant.target,
    concurrency: contest.concurrency,
    duration: entrant.duration ?? part.duration,
    warmup: entrant.warmup ?? part.warmup,
    ...(entrant.workers !== undefined && { workers: entrant.workers }),
    ...(suite?.tool !== undefined && { tool: suite.tool }),
    ...(suite?.database !== undefined && { database: suite.database }),
    histogram: true,
    runtime: entrant.runtime ?? runtime!
  }
}
