/**
 * Runs a comparison from its plan to its result. The result also names what could not be measured, with the reason.
 */
import { BenchError } from './errors.ts'
import {
  flagsOf,
  type Job,
  jobsOf,
  limitOf,
  nameOfEntrant,
  nameOfJob,
  obstacleOf,
  type Plan,
  range,
  secondsOf
} from './plan.ts'
import type { BenchProcess } from './process/bench-process.ts'
import { currentCommit } from './process/commit.ts'
import { withoutPaths } from './process/folder.ts'
import { isMeasured, type Outcome, summarize } from './report/comparison.ts'
import { baseOf } from './report/roles.ts'
import { Schedule } from './report/schedule.ts'
import { type Comparison, type Environment, SCHEMA, VERSION } from './report/schema.ts'

/** The reason in a report for measurements that were not made in time. */
const CUT_OFF = 'the run ended before its turn'

type Measures = Pick<BenchProcess, 'measure'>

/** @param keep is called after every measurement with the results so far */
export async function compare(
  plan: Plan,
  command: string,
  bench: Measures,
  keep: (soFar: Comparison) => Promise<unknown>
): Promise<Comparison> {
  const startedAt = new Date().toISOString()
  const began = performance.now()
  const commit = currentCommit()
  const all = plan.parts.flatMap((part) => part.contests.map((planned) => ({ ...planned, runs: part.runs })))
  const missing = (reason: string, job: Pick<Job, 'entrant'>, failed: boolean): Outcome => ({
    target: nameOfEntrant(job.entrant),
    notMeasured: reason,
    failed
  })
  // All measurements are missing at first, so that a report can be written at any time, and shows what is missing.
  const rounds = all.map(({ entrants, runs }) =>
    range(runs).map(() => entrants.map((entrant) => missing(CUT_OFF, { entrant }, true)))
  )
  const soFar = (): Comparison => ({
    schema: SCHEMA,
    version: VERSION,
    startedAt,
    command,
    commit,
    options: plan.options,
    base: plan.suite === undefined ? baseOf(plan.options.targets) : plan.options.targets[0]!,
    environment: environmentOf(rounds.flat(2)),
    contests: all.map(({ contest }, index) => summarize(contest, rounds[index]!)),
    sources: []
  })
  const put = (job: Job, outcome: Outcome) => {
    rounds[job.index]![job.run]![job.place] = outcome
  }
  const jobs = jobsOf(plan).filter((job) => {
    const obstacle = obstacleOf(job)
    if (obstacle !== undefined) put(job, missing(obstacle, job, false))
    return obstacle === undefined
  })
  const schedule = new Schedule(jobs.map(secondsOf))
  for (const job of jobs) {
    if (plan.within !== null && performance.now() - began > plan.within * 1000) {
      put(job, missing(`the ${plan.within / 60} minutes were over before its turn`, job, true))
      continue
    }
    schedule.announce(nameOfJob(job, plan))
    const outcome = await measure(job, plan, bench, schedule.label)
    schedule.report(outcome)
    put(job, outcome)
    await keep(soFar())
  }
  return soFar()
}

async function measure(job: Job, plan: Plan, bench: Measures, label: string): Promise<Outcome> {
  const target = nameOfEntrant(job.entrant)
  try {
    const flags = { ...flagsOf(job, plan), label }
    return { ...(await bench.measure(flags, { limit: limitOf(job, plan) })), target }
  } catch (error) {
    // A peer that cannot be measured is also a result, and does not end the comparison.
    if (error instanceof BenchError) return { target, notMeasured: withoutPaths(error.message), failed: true }
    throw error
  }
}

/** The environment of the first measurement, with the versions of all runtimes. */
function environmentOf(outcomes: readonly Outcome[]): Environment | null {
  const all = outcomes.filter(isMeasured).map(({ environment }) => environment)
  const version = (runtime: 'bun' | 'node') => all.find((one) => one[runtime] !== null)?.[runtime] ?? null
  return all[0] === undefined ? null : { ...all[0], bun: version('bun'), node: version('node') }
}
