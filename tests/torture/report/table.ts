/** Writes rows as a table: aligned for a terminal, or in Markdown. */
import type { Row } from '../scenario.ts'

interface Column {
  readonly title: string
  /** The meaning of the column, for readers of the page. */
  readonly meaning: string
  readonly align: 'left' | 'right'
  cell(row: Row): string
}

const ABSENT = '–'

export const COLUMNS: readonly Column[] = [
  { title: 'scenario', meaning: 'the faults and the load', align: 'left', cell: (row) => row.scenario },
  {
    title: 'server',
    meaning: "this library's, or Nest's",
    align: 'left',
    cell: (row) => row.server
  },
  count('faults', 'injected kills, restarts, cuts, hostile peers, mutated frames', 'faults'),
  count('requests', 'requests made', 'requests'),
  count('succeeded', 'answered with their own answer', 'succeeded'),
  count('failed', 'failed with a typed error', 'failed'),
  count('lost', "ended without answer and error, or with another request's answer", 'lost'),
  count('doubled', 'settled twice, or ran twice although it must not', 'doubled'),
  count('hung', 'not settled in time', 'hung'),
  {
    title: 'worst recovery',
    meaning: 'the longest time from a server that listens again to the next success',
    align: 'right',
    cell: ({ worstRecoveryMs }) => unit(worstRecoveryMs, 'ms')
  },
  {
    title: 'peak RSS',
    meaning: "peak memory of the server's process",
    align: 'right',
    cell: ({ peakRssMb }) => unit(peakRssMb, 'MB')
  },
  {
    title: 'RSS limit',
    meaning: 'memory that the configured limits allow',
    align: 'right',
    cell: ({ rssLimitMb }) => unit(rssLimitMb, 'MB')
  },
  { title: 'remark', meaning: 'further figures', align: 'left', cell: ({ remark = '' }) => remark }
]

/** The table for a terminal: columns aligned by blanks. */
export function textTable(rows: readonly Row[]): string {
  const lines = [COLUMNS.map(({ title }) => title), ...rows.map(cells)]
  const widths = COLUMNS.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  const padded = (text: string, column: number) =>
    COLUMNS[column]?.align === 'right' ? text.padStart(widths[column] ?? 0) : text.padEnd(widths[column] ?? 0)
  return lines.map((line) => line.map(padded).join('  ').trimEnd()).join('\n')
}

/** The table in Markdown. */
export function markdownTable(rows: readonly Row[]): string {
  const line = (texts: readonly string[]) =>
    `| ${texts.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`
  return [
    line(COLUMNS.map(({ title }) => title)),
    line(COLUMNS.map(({ align }) => (align === 'right' ? '---:' : '---'))),
    ...rows.map((row) => line(cells(row)))
  ].join('\n')
}

/** A sentence for each fault of our servers; an empty list means success. */
export function verdict(rows: readonly Row[]): string[] {
  return rows
    .filter(({ server }) => server === 'ours')
    .flatMap((row) => [
      ...(['lost', 'doubled', 'hung'] as const)
        .filter((what) => row[what] > 0)
        .map((what) => `${row.scenario}: ${row[what]} ${what}`),
      ...row.broken.map((promise) => `${row.scenario}: ${promise}`)
    ])
}

function cells(row: Row): string[] {
  return COLUMNS.map(({ cell }) => cell(row))
}

function count(
  title: string,
  meaning: string,
  field: 'faults' | 'requests' | 'succeeded' | 'failed' | 'lost' | 'doubled' | 'hung'
): Column {
  return { title, meaning, align: 'right', cell: (row) => row[field].toLocaleString('en') }
}

function unit(figure: number | undefined, name: string): string {
  return figure === undefined ? ABSENT : `${Math.round(figure).toLocaleString('en')} ${name}`
}
