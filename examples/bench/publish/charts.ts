/** The charts of the documentation, one file each, generated from the published report. */
import { escaped } from '../html/draw.ts'
import { layoutOf } from '../report/contest.ts'
import type { Figure } from '../report/figures.ts'
import type { Comparison, ContestResult } from '../report/schema.ts'
import { shown } from './cells.ts'
import { find, isLongStream, isManyStreams, isSlowReader, isText, isWaiting, resultOf } from './contests.ts'

interface Bar {
  readonly name: string
  readonly value: number
}

interface Group {
  readonly title: string
  /** The bars, ours first. */
  readonly bars: readonly Bar[]
}

interface Chart {
  readonly title: string
  readonly figure: Figure
  groups(comparison: Comparison): Group[]
}

const NAMES: Readonly<Record<string, string>> = {
  elysia: 'this project',
  nest: 'NestJS',
  grpc: 'grpc-js',
  'rsocket-js': 'rsocket-js'
}

/** A group with a bar for each target that was measured. */
function group(title: string, contest: ContestResult | undefined, figure: Figure): Group[] {
  if (contest === undefined) return []
  const bars = Object.entries(NAMES).flatMap(([target, name]) => {
    const value = contest.results.find((result) => result.target === target)?.figures[figure]?.median
    return value === undefined ? [] : [{ name, value }]
  })
  return [{ title, bars }]
}

const LAYOUTS = ['shared', 'per-client'] as const

/** The charts by name; their files are `docs/benchmarks/chart-<name>.svg`. */
export const CHARTS: Readonly<Record<string, Chart>> = {
  requests: {
    title: 'Requests a second, 100 callers, under Bun',
    figure: 'rps',
    groups: (comparison) =>
      LAYOUTS.flatMap((layout) =>
        [
          ['A text of 200 B', isText] as const,
          ['A handler that answers in a later turn', isWaiting] as const
        ].flatMap(([title, is]) => {
          const contest = find(comparison, { layout, is })
          const pair = contest && {
            ...contest,
            results: ['elysia', 'nest'].map((name) => resultOf(contest, name))
          }
          return group(`${title}, ${layoutOf({ layout })}`, pair, 'rps')
        })
      )
  },
  streams: {
    title: 'Values of streams a second, under Bun',
    figure: 'rps',
    groups: (comparison) => [
      ...group(
        'One stream of 100,000 values',
        find(comparison, { layout: 'shared', is: isLongStream }),
        'rps'
      ),
      ...LAYOUTS.flatMap((layout) =>
        group(
          `100 streams of 10 values, ${layoutOf({ layout })}`,
          find(comparison, { layout, is: isManyStreams }),
          'rps'
        )
      )
    ]
  },
  memory: {
    title: 'Peak memory in MiB while a reader takes one value a second',
    figure: 'rssPeak',
    groups: (comparison) => {
      const contest = find(comparison, { layout: 'shared', is: isSlowReader })
      return [...group('The server', contest, 'rssPeak'), ...group('The client', contest, 'clientRssPeak')]
    }
  }
}

/** The title of a chart and its first group, for a reader who does not see it; the tables have all figures. */
export function inBrief(name: string, comparison: Comparison): string {
  const [brief = ''] = described(name, comparison).split(';')
  return brief.replace(/\.?$/, '.')
}

/** All figures of a chart in words. */
export function described(name: string, comparison: Comparison): string {
  const { title, figure, groups } = CHARTS[name]!
  const said = groups(comparison).map(
    (each) => `${each.title}: ${each.bars.map((bar) => `${bar.name} ${shown(figure, bar.value)}`).join(', ')}`
  )
  return `${title}. ${said.join('; ')}.`
}

const WIDTH = 560
const EDGE = 20
/** The position at which bars begin, and the room for the number behind the longest bar. */
const LEFT = 120
const NUMBER = 96
const ROW = 22

/**
 * The chart has its own background, so that it can be read on any page; an image gets the colour scheme of its page.
 */
const STYLE = `
  .paper { fill: #f6f6f7 } text { font: 14px system-ui, sans-serif; fill: #1c1e21 } .title { font-weight: 600 }
  .quiet { fill: #5c6370 } .ours { fill: #3451b2 } .other { fill: #9aa1ad }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #202127 } text { fill: #e8eaed } .quiet { fill: #a3a9b3 } .ours { fill: #a8b1ff } .other { fill: #62697a }
  }`

/** A chart as SVG. */
export function drawChart(name: string, comparison: Comparison): string {
  const { title, figure, groups } = CHARTS[name]!
  const all = groups(comparison)
  const most = Math.max(...all.flatMap(({ bars }) => bars.map(({ value }) => value)))
  const parts: string[] = []
  const text = (x: number, y: number, is: string, said: string, anchor = 'start') =>
    parts.push(`<text x="${x}" y="${y}" class="${is}" text-anchor="${anchor}">${escaped(said)}</text>`)
  let y = EDGE + 12
  text(EDGE, y, 'title', title)
  for (const each of all) {
    y += 34
    text(EDGE, y, 'quiet', each.title)
    for (const [index, { name: of, value }] of each.bars.entries()) {
      y += ROW
      const length = Math.max(1, (value / most) * (WIDTH - LEFT - NUMBER)).toFixed(1)
      text(LEFT - 8, y, '', of, 'end')
      parts.push(
        `<rect x="${LEFT}" y="${y - 13}" width="${length}" height="16" rx="2" class="${index === 0 ? 'ours' : 'other'}"/>`
      )
      text(LEFT + Number(length) + 8, y, '', shown(figure, value))
    }
  }
  const height = y + EDGE
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `<title>${escaped(described(name, comparison))}</title>`,
    `<style>${STYLE}\n</style>`,
    `<rect width="${WIDTH}" height="${height}" rx="8" class="paper"/>`,
    ...parts,
    '</svg>\n'
  ].join('\n')
}
