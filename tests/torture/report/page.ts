/** Writes a run as a page in Markdown, and as JSON. */
import os from 'node:os'
import type { Row } from '../scenario.ts'
import { COLUMNS, markdownTable, verdict } from './table.ts'

/** A whole run. */
export interface TortureRun {
  /** The command that repeats the run. */
  readonly command: string
  /** A description of the machine. */
  readonly machine: string
  /** The versions of runtime and library. */
  readonly versions: string
  /** The results, in the order of the scenarios. */
  readonly results: readonly Result[]
}

/** The result of one scenario. */
export interface Result {
  readonly name: string
  /** When the scenario ended, in ISO 8601. */
  readonly date: string
  readonly rows: readonly Row[]
}

/** All rows of a run. */
export function rowsOf({ results }: TortureRun): Row[] {
  return results.flatMap(({ rows }) => rows)
}

/** A description of the machine without names and paths. */
export function describeMachine(): string {
  const cpus = os.cpus()
  const gigabytes = Math.round(os.totalmem() / 1024 ** 3)
  return `${cpus.length} × ${cpus[0]?.model.trim() ?? 'unknown processor'}, ${gigabytes} GB, ${os.type()} ${os.release()}`
}

/** The runtime in words. */
export function describeRuntime(): string {
  const { bun, node } = process.versions
  return bun === undefined ? `Node ${node}` : `Bun ${bun}`
}

/** The complete page. */
export function page(run: TortureRun): string {
  const { command, machine, versions } = run
  const rows = rowsOf(run)
  const broken = verdict(rows)
  const result =
    broken.length === 0
      ? 'No promise was broken.'
      : ['Broken promises:', '', ...broken.map((sentence) => `- ${sentence}`)].join('\n')
  return `# Results of the torture suite

The torture suite injects faults into servers under load, and counts the results of all requests ([how this library is tested](torture.md)). This command writes the page:

\`\`\`sh
${command}
\`\`\`

Run on ${days(run)}: ${machine}; ${versions}.

${markdownTable(rows)}

${result}

## Columns

${COLUMNS.map(({ title, meaning }) => `- **${title}**: ${meaning}`).join('\n')}

A dash means that this was not measured. [Tests of failure](faults.md#tests-of-failure) lists the promises.
`
}

/** The date of a run, or its first and last date. */
function days({ results }: TortureRun): string {
  const all = results.map(({ date }) => date.slice(0, 10)).sort()
  return [...new Set([all.at(0), all.at(-1)])].join(' to ')
}
