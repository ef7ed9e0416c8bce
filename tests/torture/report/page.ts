/** A run as a page in Markdown, and as JSON. */
import os from 'node:os'
import type { Row } from '../scenario.ts'
import { COLUMNS, markdownTable, verdict } from './table.ts'

/** A whole run. */
export interface TortureRun {
  /** How it can be run again. */
  readonly command: string
  /** ISO 8601. */
  readonly date: string
  /** What it ran on, in words. */
  readonly machine: string
  /** Runtime and library, in words. */
  readonly versions: string
  readonly rows: readonly Row[]
}

/** The machine in words: no names, no paths. */
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

/** A complete page. */
export function page({ command, date, machine, versions, rows }: TortureRun): string {
  const broken = verdict(rows)
  const result =
    broken.length === 0
      ? 'No promise was broken.'
      : ['Broken promises:', '', ...broken.map((sentence) => `- ${sentence}`)].join('\n')
  return `# What we tested it against

Faults injected into servers under load, and what became of the requests. This page is written by its command:

\`\`\`sh
${command}
\`\`\`

Run on ${date.slice(0, 10)}: ${machine}; ${versions}.

${markdownTable(rows)}

${result}

## Columns

${COLUMNS.map(({ title, meaning }) => `- **${title}**: ${meaning}`).join('\n')}

A dash is what was not measured. The server runs in a process of its own; its handlers write each run to a file, which survives a kill, and each request carries an id that its answer must repeat. \`docs/faults.md\` says more.
`
}
