/** Compares peers: `bun run compare`. Each measurement runs in its own process, and the targets take turns. */
import { readFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { fullPlan } from './full-plan.ts'
import { measureInstallations } from './install/installations.ts'
import { measureTypeChecking } from './install/type-checking.ts'
import { measurePlan } from './measure-plan.ts'
import {
  type ComparisonOptions,
  comparisonUsage,
  readComparisonOptions
} from './options/comparison-options.ts'
import { planOf } from './plan.ts'
import { BenchProcess } from './process/bench-process.ts'
import { commandLine, print, runCommand } from './process/main.ts'
import { stopServers } from './process/server-process.ts'
import { writeDocuments } from './publish/documents.ts'
import { publishReport, type ReportName } from './publish/published.ts'
import { isClean, isComplete } from './report/comparison.ts'
import type { Comparison } from './report/schema.ts'
import { combine, readStored } from './report/stored.ts'
import { renderComparison } from './report/table.ts'
import { resultFile, writeJson, writeReports } from './report/write.ts'
import { isSuite, readSuiteComparison, type SuiteComparison, suiteComparisonUsage } from './suites/options.ts'
import { suitePlan } from './suites/plan.ts'
import { sizesOf } from './suites/sizes.ts'

const bench = new BenchProcess()

/** The comparison that is running, with its file. */
let unfinished: { readonly comparison: Comparison; readonly file: string } | undefined

/** The run that a command line asks for. */
interface Run {
  readonly file: string
  /** The name of the published report that the run updates; `undefined`: none. */
  readonly published: ReportName | undefined
  /** The parts of that report which the run measures. Default: all. */
  readonly parts?: readonly string[] | undefined
  /** Whether errors are expected results, so that the exit code is 0. */
  readonly mayHaveErrors: boolean
  make(): Promise<Comparison>
}

await runCommand(
  async () => {
    const argv = process.argv.slice(2)
    const command = commandLine('bun run compare', argv)
    const run = isSuite(argv) ? suiteRun(argv, command) : peersRun(argv, command)
    if (typeof run === 'string') {
      await print(run)
      return 0
    }
    const comparison = await run.make()
    const files = await writeReports(comparison, run.file)
    unfinished = undefined
    if (run.published !== undefined) await publishReport(run.published, comparison, run.parts)
    const pages = run.published === undefined ? [] : await writeDocuments()
    await print(`${renderComparison(comparison)}\nReports: ${[...files, ...pages].map(shown).join(', ')}\n`)
    return (run.mayHaveErrors ? isComplete(comparison) : isClean(comparison)) ? 0 : 1
  },
  async () => {
    await bench.stop()
    await stopServers()
    if (unfinished === undefined) return
    const files = await writeReports(unfinished.comparison, unfinished.file)
    console.error(`Results so far: ${files.map(shown).join(', ')}`)
  }
)

/** @returns the help text, if the command line asks for it */
function suiteRun(argv: readonly string[], command: string): Run | string {
  const options: SuiteComparison | 'help' = readSuiteComparison(argv)
  if (options === 'help') return suiteComparisonUsage
  const file = options.out ?? resultFile(options.suite)
  return {
    file,
    published: options.full && options.out === undefined ? options.suite : undefined,
    // The suite `db` shows that a pool runs out, so errors are expected.
    mayHaveErrors: options.suite === 'db' || options.full,
    make: () =>
      measurePlan(
        suitePlan(options),
        command,
        bench,
        async () => (options.full ? { sizes: await sizesOf(options) } : {}),
        keeper(file)
      )
  }
}

/** @returns the help text, if the command line asks for it */
function peersRun(argv: readonly string[], command: string): Run | string {
  const options = readComparisonOptions(argv)
  if (options === 'help') return comparisonUsage
  const { full, out, from } = options
  const file = out ?? resultFile(full === null ? 'latest' : 'report')
  return {
    file,
    // Only a whole report in its default file is published.
    published: full !== null && full.runtimes === undefined && out === undefined ? 'report' : undefined,
    parts: full?.parts,
    // In the published report, a task that a peer cannot do is an expected result.
    mayHaveErrors: full !== null,
    make: () => (from.length > 0 ? readAll(options, command) : measure(options, command, file))
  }
}

/** Writes all results so far to the file, so that --from can create reports even if this process is killed. */
function keeper(file: string) {
  return async (comparison: Comparison): Promise<void> => {
    unfinished = { comparison, file }
    await writeJson(comparison, file)
  }
}

function measure(
  { full, ...options }: ComparisonOptions,
  command: string,
  file: string
): Promise<Comparison> {
  const keep = keeper(file)
  if (full === null) return measurePlan(planOf({ ...options, full }), command, bench, async () => ({}), keep)
  if (full.parts !== undefined) return measurePlan(fullPlan(full), command, bench, async () => ({}), keep)
  const once = async () => ({ sizes: await measureInstallations(), types: await measureTypeChecking() })
  return measurePlan(fullPlan(full), command, bench, once, keep)
}

async function readAll({ from }: ComparisonOptions, command: string) {
  const texts = await Promise.all(from.map(async (file) => ({ file, text: await readFile(file, 'utf8') })))
  return combine(
    texts.map(({ file, text }) => readStored(file, text)),
    command
  )
}

function shown(file: string): string {
  return relative('.', file)
}
