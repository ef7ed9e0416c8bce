/** Figures and tables in the form of the documentation. */
import type { Figure } from '../report/figures.ts'
import type { Comparison } from '../report/schema.ts'

/** Creates the text between two markers of a page. */
export type Block = (comparison: Comparison) => string

const COUNTS: readonly Figure[] = ['rps', 'perWorker', 'sent', 'arrived', 'lost', 'refused', 'firstAnswerMs']

/** A figure as text: `86,515`, `0.091`, `5.66`, `106`, with three digits below 1,000. */
export function shown(figure: Figure, value: number | undefined): string {
  if (value === undefined) return '–'
  if (COUNTS.includes(figure)) return Math.round(value).toLocaleString('en')
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3
  return value.toFixed(digits)
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), `| ${head.map(() => '---').join(' | ')} |`, ...rows.map(line)].join('\n')
}
