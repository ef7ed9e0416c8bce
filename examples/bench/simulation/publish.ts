/** The tables of docs/scaling.md, between its markers, and its two charts. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BenchError } from '../errors.ts'
import { drawChart } from '../html/chart.ts'
import { colourScale, dashScale, seriesOf } from '../html/series.ts'
import { COLOURS_OF_PAGE } from '../html/style.ts'
import { BENCH_FOLDER } from '../process/folder.ts'
import {
  type Curve,
  coldStart,
  comingBack,
  flood,
  floodCurves,
  hangingCurves,
  restarts,
  spread,
  type Table,
  trouble
} from './scenarios.ts'

const ROOT = join(BENCH_FOLDER, '..', '..')
export const PAGE = 'docs/scaling.md'

/** Tables by the names that the page's markers have. */
export const TABLES: Readonly<Record<string, () => Table>> = {
  spread,
  trouble,
  restarts,
  flood,
  'cold start': coldStart,
  'coming back': comingBack
}

interface Drawing {
  readonly file: string
  /** What the height of a curve is. */
  readonly title: string
  curves(): Curve[]
}

const DRAWINGS: readonly Drawing[] = [
  {
    file: 'docs/benchmarks/scaling-hanging-server.svg',
    title: 'failed, of the capacity',
    curves: hangingCurves
  },
  { file: 'docs/benchmarks/scaling-flood.svg', title: 'attempts, of the capacity', curves: floodCurves }
]

const MARKED = /(<!-- simulation: (.+?) -->\n)[\s\S]*?(<!-- \/simulation -->)/g

/** @throws {BenchError} a marker asks for something that there is not */
export async function publish(progress: (text: string) => void): Promise<void> {
  const page = join(ROOT, PAGE)
  const tables = new Map<string, string>()
  for (const [name, make] of Object.entries(TABLES)) {
    progress(name)
    tables.set(name, markdown(make()))
  }
  const filled = (await readFile(page, 'utf8')).replaceAll(MARKED, (_, begin, name, end) => {
    const table = tables.get(name)
    if (table === undefined)
      throw new BenchError(`${PAGE}: no table '${name}', expected ${[...tables.keys()].join(' or ')}`)
    return `${begin}\n${table}\n\n${end}`
  })
  await writeFile(page, filled)
  for (const drawing of DRAWINGS) {
    progress(drawing.file)
    await writeFile(join(ROOT, drawing.file), await drawn(drawing))
  }
}

export function markdown({ head, rows }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

async function drawn({ curves, title }: Drawing): Promise<string> {
  const all = curves()
  const series = seriesOf(all.map(({ name }) => name))
  const values = all.flatMap(({ name, points }) => points.map((point) => ({ name, ...point })))
  const svg = await drawChart({
    height: 150,
    data: { values },
    mark: { type: 'line', strokeWidth: 1.5 },
    encoding: {
      x: { field: 'time', type: 'quantitative', axis: { title: 'seconds' } },
      y: { field: 'share', type: 'quantitative', axis: { title, format: '.0%', titleLimit: 200 } },
      color: {
        field: 'name',
        type: 'nominal',
        scale: colourScale(series),
        legend: { title: null, orient: 'bottom', labelColor: 'var(--ink)' }
      },
      strokeDash: { field: 'name', type: 'nominal', scale: dashScale(series) }
    }
  })
  // A picture has no page whose colours it could take.
  return `${svg.replace(/(<svg[^>]*>)/, `$1<style>${COLOURS_OF_PAGE}</style>`)}\n`
}
