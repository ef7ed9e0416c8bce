/** Peers against each other: `bun run compare`. Each measurement is a process of its own, the targets take turns. */
import { readFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { compare } from './compare.ts'
import {
  type ComparisonOptions,
  comparisonUsage,
  readComparisonOptions
} from './options/comparison-options.ts'
import { BenchProcess } from './process/bench-process.ts'
import { commandLine, print, runCommand } from './process/main.ts'
import { isClean } from './report/comparison.ts'
import { combine, readStored } from './report/stored.ts'
import { renderComparison } from './report/table.ts'
import { writeJson, writeReports } from './report/write.ts'

const bench = new BenchProcess()

await runCommand(
  async () => {
    const options = readComparisonOptions(process.argv.slice(2))
    if (options === 'help') {
      await print(comparisonUsage)
      return 0
    }
    const command = commandLine('bun run compare', process.argv.slice(2))
    const comparison =
      options.from.length > 0
        ? await readAll(options, command)
        : // What is measured is kept even if the rest never is.
          await compare(options, command, bench, (soFar) => writeJson(soFar, options.out))
    const files = await writeReports(comparison, options.out)
    await print(
      `${renderComparison(comparison)}\nReports: ${files.map((file) => relative('.', file)).join(', ')}\n`
    )
    return isClean(comparison) ? 0 : 1
  },
  () => bench.stop()
)

async function readAll({ from }: ComparisonOptions, command: string) {
  const texts = await Promise.all(from.map(async (file) => ({ file, text: await readFile(file, 'utf8') })))
  return combine(
    texts.map(({ file, text }) => readStored(file, text)),
    command
  )
}
