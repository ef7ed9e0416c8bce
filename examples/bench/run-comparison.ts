/** Peers against each other: `bun run compare`. Each measurement is a process of its own, the targets take turns. */
import { readFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { compare } from './compare.ts'
import { fullPlan } from './full-plan.ts'
import { measureInstallations } from './install/installations.ts'
import {
  type ComparisonOptions,
  comparisonUsage,
  readComparisonOptions
} from './options/comparison-options.ts'
import { planOf } from './plan.ts'
import { BenchProcess } from './process/bench-process.ts'
import { commandLine, print, runCommand } from './process/main.ts'
import { writeDocuments } from './publish/documents.ts'
import { isClean, isComplete } from './report/comparison.ts'
import type { Comparison } from './report/schema.ts'
import { combine, readStored } from './report/stored.ts'
import { renderComparison } from './report/table.ts'
import { DEFAULT_FILE, FULL_FILE, writeJson, writeReports } from './report/write.ts'

const bench = new BenchProcess()

/** What has been measured and is no report yet. */
let unfinished: { readonly comparison: Comparison; readonly file: string } | undefined

await runCommand(
  async () => {
    const options = readComparisonOptions(process.argv.slice(2))
    if (options === 'help') {
      await print(comparisonUsage)
      return 0
    }
    const command = commandLine('bun run compare', process.argv.slice(2))
    const file = options.out ?? (options.full === null ? DEFAULT_FILE : FULL_FILE)
    const comparison =
      options.from.length > 0 ? await readAll(options, command) : await measure(options, command, file)
    const files = await writeReports(comparison, file)
    unfinished = undefined
    // A part of it, or a copy elsewhere, is not what the documentation shows.
    const isPublished = options.full !== null && options.full.runtimes === undefined && file === FULL_FILE
    const pages = isPublished ? await writeDocuments(comparison) : []
    await print(`${renderComparison(comparison)}\nReports: ${[...files, ...pages].map(shown).join(', ')}\n`)
    // What peers cannot do is a finding of the published report, and no fault in it.
    return (options.full === null ? isClean(comparison) : isComplete(comparison)) ? 0 : 1
  },
  async () => {
    await bench.stop()
    if (unfinished === undefined) return
    const files = await writeReports(unfinished.comparison, unfinished.file)
    console.error(`What was measured so far: ${files.map(shown).join(', ')}`)
  }
)

async function measure(options: ComparisonOptions, command: string, file: string): Promise<Comparison> {
  const plan = options.full === null ? planOf(options) : fullPlan(options.full)
  const sizes = options.full === null ? {} : { sizes: await measureInstallations() }
  const measured = await compare(plan, command, bench, async (soFar) => {
    const comparison = { ...soFar, ...sizes }
    unfinished = { comparison, file }
    // Even if this process is killed, it is there, and --from makes reports of it.
    await writeJson(comparison, file)
  })
  return { ...measured, ...sizes }
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
