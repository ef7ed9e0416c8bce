/** The published reports: the medians of all reports in one file, and each report as Markdown and HTML. */
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { renderHtml } from '../html/page.ts'
import { BENCH_FOLDER } from '../process/folder.ts'
import { decisiveFigures } from '../report/comparison.ts'
import { type Figure, figuresOf } from '../report/figures.ts'
import { renderMarkdown } from '../report/markdown.ts'
import { type Comparison, type FigureSpreads, SCHEMA, VERSION } from '../report/schema.ts'
import { readStored } from '../report/stored.ts'
import { suiteNames } from '../task/task.ts'
import { CHARTS, drawChart } from './charts.ts'

export const PUBLISHED = join(BENCH_FOLDER, '..', '..', 'docs', 'benchmarks')
export const MEDIANS = join(PUBLISHED, 'medians.json')

/** The report of peers, and the reports of the suites. */
export const reportNames = ['report', ...suiteNames] as const
export type ReportName = (typeof reportNames)[number]
export type Published = Readonly<Partial<Record<ReportName, Comparison>>>

/**
 * The number of digits that are kept: rounded figures are then the same as with the full value; ratios are shown with
 * two decimals.
 */
const DIGITS = { figures: 16, ratio: 8 }

/** A report without its single runs: with medians, ranges, ratios and verdicts. */
export function compact(comparison: Comparison): Comparison {
  const contests = comparison.contests.map((contest) => {
    const kept = [...new Set([...figuresOf(contest), ...decisiveFigures(contest)])]
    return {
      ...contest,
      rounds: [],
      results: contest.results.map((result) => ({
        ...result,
        figures: known(result.figures, kept, DIGITS.figures),
        ratio: result.ratio === null ? null : known(result.ratio, kept, DIGITS.ratio)
      }))
    }
  })
  return { ...comparison, contests }
}

function known(figures: FigureSpreads, kept: readonly Figure[], digits: number): FigureSpreads {
  const rounded = (value: number): number => Number(value.toPrecision(digits))
  const entries = kept.flatMap((figure) => {
    const spread = figures[figure]
    if (spread == null) return []
    const { median, min, max } = spread
    return [[figure, { median: rounded(median), min: rounded(min), max: rounded(max) }]]
  })
  return Object.fromEntries(entries) as FigureSpreads
}

/** @throws BenchError if a report cannot be read */
export async function readPublished(): Promise<Published> {
  if (!existsSync(MEDIANS)) return {}
  const { reports } = JSON.parse(await readFile(MEDIANS, 'utf8')) as { reports: Record<string, unknown> }
  const read = (name: string) => readStored(`${MEDIANS}, ${name}`, JSON.stringify(reports[name])).comparison
  const there = reportNames.filter((name) => Object.hasOwn(reports, name))
  return Object.fromEntries(there.map((name) => [name, read(name)]))
}

/**
 * Replaces the published report with the same name.
 * @param parts the titles of the measured parts; the published report keeps its other parts
 */
export async function publishReport(
  name: ReportName,
  comparison: Comparison,
  parts?: readonly string[]
): Promise<void> {
  const published = await readPublished()
  const before = parts === undefined ? undefined : published[name]
  const now = compact(comparison)
  await writePublished({ ...published, [name]: before === undefined ? now : withParts(before, now, parts) })
}

/** A report in which the contests of some parts are replaced by those of another one. */
export function withParts(before: Comparison, now: Comparison, parts: readonly string[] = []): Comparison {
  const kept = before.contests.filter(({ part = '' }) => !parts.includes(part))
  const environment = before.environment && {
    ...before.environment,
    packages: { ...now.environment?.packages, ...before.environment.packages }
  }
  const { startedAt, command, commit, environment: there } = now
  const later = [
    ...(before.later ?? []).filter(({ label }) => !parts.includes(label)),
    ...parts.map((label) => ({ label, startedAt, command, commit, environment: there }))
  ]
  return { ...before, environment, later, contests: [...kept, ...now.contests] }
}

/** @returns the files; the one with the medians first */
export async function writePublished(published: Published): Promise<string[]> {
  await writeFile(MEDIANS, asText(published))
  const files = [MEDIANS]
  for (const [name, comparison] of Object.entries(published)) {
    const file = join(PUBLISHED, name)
    await writeFile(`${file}.md`, renderMarkdown(comparison))
    await writeFile(`${file}.html`, renderHtml(comparison, true))
    files.push(`${file}.md`, `${file}.html`)
  }
  if (published.report !== undefined) {
    for (const name of Object.keys(CHARTS)) {
      files.push(chartFile(name))
      await writeFile(chartFile(name), drawChart(name, published.report))
    }
  }
  return files
}

/** The file of a chart in the documentation. */
export const chartFile = (name: string): string => join(PUBLISHED, `chart-${name}.svg`)

/** Writes one contest per line, so that differences can be read. */
export function asText(published: Published): string {
  const reports = Object.entries(published).map(([name, { contests, ...rest }]) => {
    const head = JSON.stringify(rest).slice(0, -1)
    const lines = contests.map((contest) => JSON.stringify(contest)).join(',\n')
    return `${JSON.stringify(name)}:${head},"contests":[\n${lines}\n]}`
  })
  return `{"schema":"${SCHEMA}/medians","version":${VERSION},"reports":{\n${reports.join(',\n')}\n}}\n`
}
