/**
 * Runs a gate: `npm run check` before a commit, `npm test` on each push, `npm run test:nightly` every night. The
 * last line is the count of all tests, each once for each runtime it ran on.
 *
 *   bun tools/scripts/test.ts check|test|nightly
 *     --only=unit/bun,lint   only jobs whose names begin so, comma-separated
 *     --list                 only the names of the jobs
 */
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { jobsOf, lastJobsOf, withNeeded } from './jobs.ts'
import { endJobs, type Job, runJobs } from './run-jobs.ts'
import type { Gate } from './test-files.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string' }, list: { type: 'boolean', default: false } }
})
const gate = (positionals[0] ?? 'test') as Gate
if (!['check', 'test', 'nightly'].includes(gate)) {
  console.error(`There is no gate '${gate}'; the gates are check, test and nightly`)
  process.exit(2)
}
const names = values.only?.split(',')
const isAsked = ({ name }: Job) => names?.some((only) => name.startsWith(only)) ?? true
const last = lastJobsOf(gate).filter(isAsked)
const jobs = withNeeded(jobsOf(gate).filter(isAsked), last)
if (values.list) {
  for (const { name } of [...jobs, ...last]) console.log(name)
  process.exit(0)
}
if (jobs.length + last.length === 0) {
  console.error(`No job is called ${values.only}; --list prints all names`)
  process.exit(2)
}

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, async () => {
    await endJobs()
    process.exit(1)
  })
// More jobs than processors, because most jobs spend half of their time waiting for timers and other processes. With
// two more, jobs need a quarter more of a processor, so that those are only started while processors have nothing to
// do. The jobs of the night compute most of their time, and a browser beside five of them gives up.
const atATime = availableParallelism() + (gate === 'nightly' ? 1 : 3)
const several = { atATime, atMost: gate === 'nightly' ? atATime : 2 * atATime }
const again = (name: string) =>
  gate === 'test'
    ? `npm test -- --only=${name}`
    : `npm run ${gate === 'check' ? 'check' : 'test:nightly'} -- --only=${name}`
const counted = await runJobs(jobs, several, again)
await runJobs(last, { atATime: 1, atMost: 1 }, again, counted)
const outcomes = [...counted.values()]
const cpu = outcomes.reduce((total, outcome) => total + outcome.cpu, 0)
// Twice as much time on two processors means that neither has waited.
console.log(`${cpu.toFixed(0)} s CPU in ${(performance.now() / 1_000).toFixed(0)} s`)
const passed = outcomes.reduce((total, outcome) => total + outcome.passed, 0)
const failed = outcomes.reduce((total, outcome) => total + outcome.failed, 0)
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
