/** Runs a plan: prepares everything that its measurements need before any is timed, and removes it afterwards. */
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
 * @param once returns the parts of the report that are not measurements; called when everything is installed
 * @param keep is called after every measurement with the results so far
 * @throws BenchError something that is needed is missing
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
  // One database for all measurements, on the cores of the load: servers have their cores for themselves.
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
