/**
 * `npm run torture`: injects faults, counts the outcomes of requests, and prints the table on stdout. Exits with 1 if
 * a guarantee was broken, with 2 if an argument is wrong.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { isAbsolute, relative, resolve } from 'node:path'
import { killServers } from '../support/server-process.ts'
import { type RunOptions, readOptions, USAGE, UsageError } from './report/options.ts'
import { describeMachine, describeRuntime, page, type Result, type TortureRun } from './report/page.ts'
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
  const earlier = options.keep ? readRun(options) : undefined
  const kept = earlier?.results ?? []
  const results = new Map<string, Result>()
  for (const scenario of scenarios.filter(({ name }) => only?.includes(name) ?? true)) {
    const { name } = scenario
    progress.begin(name)
    const startedAt = performance.now()
    const circumstances = { length, soakMinutes, progress: (text: string) => progress.show(text) }
    const rows = await scenario.run(circumstances).catch((error: Error) => [endedByError(scenario, error)])
    const failures = verdict(rows).length
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    progress.end(`${failures === 0 ? 'passed' : `${failures} promises broken`} in ${seconds} s`)
    results.set(name, { name, date: new Date().toISOString(), rows })
    // Saves the results so far, so that a run of an hour that is interrupted is not lost.
    save(
      describe(
        given,
        [...kept.filter((result) => !results.has(result.name)), ...results.values()],
        earlier?.machine
      ),
      options
    )
  }
  const rows = [...results.values()].flatMap((result) => result.rows)
  console.log(textTable(rows))
  const broken = verdict(rows)
  for (const sentence of broken) console.error(`BROKEN ${sentence}`)
  return broken.length === 0 ? 0 : 1
}

/**
 * The run with all `results`, and the command that repeats all of them.
 * @param earlier the machines of the results that were kept
 */
function describe(
  given: readonly string[],
  results: readonly Result[],
  earlier: string | undefined
): TortureRun {
  const kept = given.filter((argument) => argument !== '--keep')
  const whole = given.includes('--keep') ? kept.filter((argument) => !argument.startsWith('--only=')) : kept
  const names = scenarios.map(({ name }) => name)
  return {
    command: ['npm run torture', ...(whole.length === 0 ? [] : ['--', ...whole.map(fromHere)])].join(' '),
    machine: [...new Set([...(earlier?.split(' and ') ?? []), describeMachine()])].join(' and '),
    versions: describeRuntime(),
    results: results.toSorted((one, other) => names.indexOf(one.name) - names.indexOf(other.name))
  }
}

/** The results in the file of an earlier run; `undefined`: there is no file. */
function readRun({ json = '' }: RunOptions): TortureRun | undefined {
  const file = fromCaller(json)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as TortureRun) : undefined
}

function save(run: TortureRun, { json, markdown }: RunOptions): void {
  if (json !== undefined) writeFileSync(fromCaller(json), `${JSON.stringify(run, null, 2)}\n`)
  if (markdown !== undefined) writeFileSync(fromCaller(markdown), page(run))
}

/** Resolves a file from the folder in which the user has called npm. */
function fromCaller(file: string): string {
  return resolve(process.env['INIT_CWD'] ?? '.', file)
}

/** An argument without the parts of a path that are only valid on this machine. */
function fromHere(argument: string): string {
  const [name = '', file] = argument.split('=')
  return file !== undefined && isAbsolute(file) ? `${name}=${relative(fromCaller('.'), file)}` : argument
}

/** The row of a scenario that failed with an error: such a scenario proves nothing. */
function endedByError({ name }: Scenario, error: Error): Row {
  const nothing = { faults: 0, requests: 0, succeeded: 0, failed: 0, lost: 0, doubled: 0, hung: 0 }
  return { scenario: name, server: 'ours', ...nothing, broken: [`It ended with an error: ${error.message}`] }
}

function interrupted(code: number): void {
  killServers()
  process.exit(code)
}
