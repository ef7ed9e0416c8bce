/** A plan from what it needs to its comparison: what is needed is there before anything is timed, and gone after. */
import { compare } from './compare.ts'
import type { TargetName } from './peers/targets.ts'
import { targets } from './peers/targets.ts'
import { jobsOf, obstacleOf, type Plan } from './plan.ts'
import type { BenchProcess } from './process/bench-process.ts'
import { isOther, prepareOthers } from './process/others.ts'
import { planPinning } from './process/pinning.ts'
import type { Comparison } from './report/schema.ts'
import { suites } from './suites/catalog.ts'
import { startDatabase } from './suites/db/database.ts'
import { preferredTool } from './suites/load/tool.ts'
import { suiteTaskOf } from './suites/plan.ts'

/**
 * @param once what the report has beside its measurements; asked for when everything is installed
 * @param keep is told after every measurement what there is so far
 * @throws BenchError if something that is needed cannot be had
 */
export async function measurePlan(
  plan: Plan,
  command: string,
  bench: BenchProcess,
  once: () => Promise<Partial<Comparison>>,
  keep: (soFar: Comparison) => Promise<unknown>
): Promise<Comparison> {
  installFor(plan)
  const more = await once()
  // One for all measurements, where the load is: servers have their CPU for themselves.
  const database = plan.suite?.name === 'db' ? await startDatabase(planPinning().client) : undefined
  try {
    const shared =
      database === undefined ? plan : { ...plan, suite: { ...plan.suite!, database: database.address } }
    return { ...(await compare(shared, command, bench, (soFar) => keep({ ...soFar, ...more }))), ...more }
  } finally {
    await database?.server.stop()
  }
}

function installFor(plan: Plan): void {
  const jobs = jobsOf(plan).filter((job) => {
    const task = suiteTaskOf(job)
    const { target } = job.entrant
    const server =
      task === undefined ? targets[target as TargetName].server : suites[task.suite].targets[target]!.server
    return isOther(server) && obstacleOf(job) === undefined
  })
  const { suite } = plan
  const loadsByOther =
    suite !== undefined &&
    !['db', 'web'].includes(suite.name) &&
    (suite.tool ?? preferredTool()) === 'autocannon'
  if (jobs.length > 0 || loadsByOther) {
    prepareOthers(['bun', ...jobs.map(({ entrant, contest }) => entrant.runtime ?? contest.runtime)])
  }
}
