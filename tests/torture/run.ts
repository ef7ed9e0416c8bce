/**
 * `npm run torture`: injects faults, counts what becomes of the requests, prints the table on stdout. Ends with 1
 * when a promise was broken, with 2 when it was called wrongly.
 */
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { killServers } from '../support/server-process.ts'
import { type RunOptions, readOptions, USAGE, UsageError } from './report/options.ts'
import { describeMachine, describeRuntime, page, type TortureRun } from './report/page.ts'
import { Progress } from './report/progress.ts'
import { textTable, verdict } from './report/table.ts'
import type { Row, Scenario } from './scenario.ts'
import { scenarios } from './scenarios.ts'

process.once('SIGINT', () => interrupted(130))
process.once('SIGTERM', () => interrupted(143))

try {
  process.exit(await main(process.argv.slice(2)))
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  console.error(`${error.message}\n\n${USAGE}`)
  process.exit(2)
}

async function main(given: readonly string[]): Promise<number> {
  const options = readOptions(
    given,
    scenarios.map(({ name }) => name)
  )
  const { length, only, soakMinutes } = options
  if (options.help) {
    console.log(USAGE)
    return 0
  }
  if (options.list) {
    for (const { name } of scenarios) console.log(name)
    return 0
  }
  const progress = new Progress()
  const rows: Row[] = []
  const run: TortureRun = {
    command: ['npm run torture', ...(given.length === 0 ? [] : ['--', ...given])].join(' '),
    date: new Date().toISOString(),
    machine: describeMachine(),
    versions: describeRuntime(),
    rows
  }
  for (const scenario of scenarios.filter(({ name }) => only?.includes(name) ?? true)) {
    progress.begin(scenario.name)
    const startedAt = performance.now()
    const circumstances = { length, soakMinutes, progress: (text: string) => progress.show(text) }
    const got = await scenario.run(circumstances).catch((error: Error) => [endedByError(scenario, error)])
    const failures = verdict(got).length
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    progress.end(`${failures === 0 ? 'passed' : `${failures} promises broken`} in ${seconds} s`)
    rows.push(...got)
    // A run of half an hour that is interrupted leaves what it has seen.
    save(run, options)
  }
  console.log(textTable(rows))
  const broken = verdict(rows)
  for (const sentence of broken) console.error(`BROKEN ${sentence}`)
  return broken.length === 0 ? 0 : 1
}

function save(run: TortureRun, { json, markdown }: Pick<RunOptions, 'json' | 'markdown'>): void {
  // From where the person has called it, which npm tells.
  const from = process.env['INIT_CWD'] ?? '.'
  if (json !== undefined) writeFileSync(resolve(from, json), `${JSON.stringify(run, null, 2)}\n`)
  if (markdown !== undefined) writeFileSync(resolve(from, markdown), page(run))
}

/** A scenario that did not come to its end proves nothing. */
function endedByError({ name }: Scenario, error: Error): Row {
  const nothing = { faults: 0, requests: 0, succeeded: 0, failed: 0, lost: 0, doubled: 0, hung: 0 }
  return { scenario: name, server: 'ours', ...nothing, broken: [`It ended with an error: ${error.message}`] }
}

function interrupted(code: number): void {
  killServers()
  process.exit(code)
}
