/**
 * `npm test`: lint, type checks, all tests on Bun and Node and many on the other runtimes, through turbo, so that what
 * has not changed is not run again. The last line is the count over all of them, read from the reports of the runners.
 */
import { Glob, spawn } from 'bun'
import { type Counts, readReport, sum } from './junit.ts'

const CHECKS = ['lint', 'typecheck']
const TESTS = ['test:bun', 'test:node', 'test:runtimes']
/** Where the test runners write their reports, by package. */
const REPORTS = [
  '.results/*.xml',
  'packages/*/.results/*.xml',
  'examples/*/.results/*.xml',
  'runtimes/.results/*.xml',
  'tests/.results/*.xml'
]

/** Runs turbo tasks; their output is shown as they go. True if all succeeded. */
async function turbo(tasks: readonly string[]): Promise<boolean> {
  const run = spawn(
    ['turbo', 'run', ...tasks, '--continue=always', '--output-logs=new-only', '--log-order=grouped'],
    {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1' }
    }
  )
  return (await run.exited) === 0
}

function findReports(): string[] {
  return REPORTS.flatMap((pattern) => [...new Glob(pattern).scanSync({ cwd: '.', dot: true })].sort())
}

async function readReports(): Promise<{ counts: Counts; reports: number }> {
  const reports = await Promise.all(
    findReports().map(async (file) => ({ file, ...readReport(await Bun.file(file).text()) }))
  )
  for (const { file, counts } of reports) {
    const { passed, failed, skipped } = counts
    console.log(`${file}: ${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  }
  for (const { file, failures } of reports) {
    for (const failure of failures) console.log(`FAILED in ${file}: ${failure}`)
  }
  return { counts: sum(reports.map(({ counts }) => counts)), reports: reports.length }
}

async function removeReports(): Promise<void> {
  for (const file of findReports()) await Bun.file(file).delete()
}

await removeReports()
const total: Counts = { passed: 0, failed: 0, skipped: 0 }
for (const check of CHECKS) {
  if (await turbo([check])) total.passed++
  else {
    total.failed++
    console.log(`The check '${check}' failed; see above`)
  }
}
const testsSucceeded = await turbo(TESTS)
const { counts, reports } = await readReports()
total.passed += counts.passed
total.failed += counts.failed
total.skipped += counts.skipped
if (!testsSucceeded && counts.failed === 0) {
  total.failed++
  console.log(
    'A test run ended without a report of a failed test (it crashed, or could not be built); see above'
  )
}
if (reports === 0) {
  total.failed++
  console.log('No test wrote a report')
}
console.log(`${total.passed} passed, ${total.failed} failed`)
process.exit(total.failed === 0 && total.skipped === 0 ? 0 : 1)
