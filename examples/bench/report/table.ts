/** A comparison as text for a terminal. */
import { describeConditions } from './conditions.ts'
import { titleOf } from './contest.ts'
import { headerOf, medianRows, ratioRows, remarksOn } from './rows.ts'
import type { Comparison, ContestResult } from './schema.ts'
import { sectionsOf } from './sections.ts'

export function renderComparison(comparison: Comparison): string {
  return [
    ...describeConditions(comparison),
    ...comparison.contests.flatMap((contest) => ['', ...renderContest(contest)]),
    ...sectionsOf(comparison).flatMap(({ title, remark, rows }) => [
      '',
      title,
      ...alignColumns(rows),
      remark
    ]),
    ''
  ].join('\n')
}

const renderContest = (contest: ContestResult): string[] => [
  titleOf(contest),
  ...alignColumns([headerOf(contest), ...medianRows(contest), ...ratioRows(contest)]),
  ...remarksOn(contest)
]

/** Aligns the first column to the left, the others to the right. */
export function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join('  ')
      .trimEnd()
  )
}
