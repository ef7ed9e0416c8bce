/** A comparison as Markdown. */
import { describeConditions } from './conditions.ts'
import { titleOf } from './contest.ts'
import { headerOf, medianRows, rangeRows, ratioRows, remarksOn } from './rows.ts'
import type { Comparison, ContestResult } from './schema.ts'
import { sectionsOf } from './sections.ts'

export const renderMarkdown = (comparison: Comparison): string =>
  [
    '# Benchmark',
    ['```sh', comparison.command, '```'].join('\n'),
    describeConditions(comparison)
      .map((line) => `- ${escaped(line)}`)
      .join('\n'),
    `Commit ${comparison.commit ?? 'unknown'}, ${comparison.startedAt}.`,
    ...comparison.contests.flatMap((contest, index) => [
      ...partTitle(contest, comparison.contests[index - 1]),
      ...renderContest(contest)
    ]),
    ...sectionsOf(comparison).flatMap(({ title, remark, rows: [header, ...rows] }) => [
      `## ${title}`,
      remark,
      table(header!, rows)
    ]),
    ''
  ].join('\n\n')

/** The title of a part, at its beginning, in a report with several parts. */
const partTitle = ({ part }: ContestResult, before: ContestResult | undefined): string[] =>
  part === undefined || part === before?.part ? [] : [`## ${escaped(part)}`]

function renderContest(contest: ContestResult): string[] {
  const ratios = ratioRows(contest)
  const header = headerOf(contest)
  return [
    `${contest.part === undefined ? '##' : '###'} ${escaped(titleOf(contest))}`,
    remarksOn(contest)
      .map((line) => `- ${escaped(line)}`)
      .join('\n'),
    table(header, medianRows(contest)),
    ...(ratios.length === 0 ? [] : [table(header, ratios)]),
    'Lowest and highest of all runs:',
    table(header, rangeRows(contest))
  ]
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => escaped(cell.trim())).join(' | ')} |`
  return [line(header), `| --- |${' ---: |'.repeat(header.length - 1)}`, ...rows.map(line)].join('\n')
}

/** Escapes reasons, which come from servers and may contain anything. */
const escaped = (text: string): string =>
  text.replaceAll(/[\r\n]+/g, ' ').replaceAll(/[\\|<>*_`[\]]/g, '\\$&')
