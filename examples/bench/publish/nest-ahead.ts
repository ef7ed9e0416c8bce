/** A table of the figures in which NestJS is ahead. */
import { describeTask, layoutOf, payloadOf } from '../report/contest.ts'
import { type Figure, figures, plural } from '../report/figures.ts'
import type { Comparison, ContestResult } from '../report/schema.ts'
import { type Mode, taskOf } from '../task/task.ts'
import { shown } from './cells.ts'

type Names = Readonly<Partial<Record<Figure, string>>>

const NAMES: Names = {
  rps: 'requests a second',
  p50: 'latency p50',
  p90: 'latency p90',
  p99: 'latency p99',
  max: 'highest latency',
  serverCpuUsPerRequest: 'CPU of the server, a request',
  clientCpuUsPerRequest: 'CPU of the client, a request',
  serverRssMb: 'memory of the server under load',
  rssIdle: 'memory of the idle server',
  rssPeak: 'peak memory of the server',
  rssAfter: 'memory of the server after the load',
  clientRssPeak: 'peak memory of the client'
}

/** The names of figures that mean something else in these modes. */
const NAMES_OF: Readonly<Partial<Record<Mode, Names>>> = {
  stream: {
    rps: 'values a second',
    p50: 'first value p50',
    p99: 'first value p99'
  },
  emit: {
    rps: 'events a second',
    p50: '`emit` settles p50',
    p99: '`emit` settles p99'
  }
}

const UNITS: readonly (readonly [end: string, unit: string])[] = [
  ['MiB', ' MiB'],
  ['ms', ' ms'],
  ['µs/req', ' µs']
]

/** The cells of a figure: its name, NestJS's value, ours. */
function cellsOf(figure: Figure, contest: ContestResult, nest: number, ours: number): readonly string[] {
  const name = NAMES_OF[taskOf(contest).mode]?.[figure] ?? NAMES[figure] ?? figures[figure].title
  const unit = UNITS.find(([end]) => figures[figure].title.endsWith(end))?.[1] ?? ''
  return [name, `${shown(figure, nest)}${unit}`, `${shown(figure, ours)}${unit}`]
}

function circumstances(contest: ContestResult): string {
  const asked = describeTask(taskOf(contest))
  const runtime = contest.runtime === 'node' ? 'Node' : 'Bun'
  return [payloadOf(contest), ...(asked === '' ? [] : [asked]), layoutOf(contest), runtime].join(', ')
}

/** A row for each figure in which the median ratio is better for NestJS, in each contest with both clients. */
export function nestAhead({ contests }: Comparison): string {
  const rows = contests
    .filter(({ client, scope }) => client === 'own' && scope === undefined)
    .flatMap((contest) => {
      const nest = contest.results.find(({ target }) => target === 'nest')
      const ours = contest.results.find(({ ratioTo }) => ratioTo === 'nest')
      if (nest === undefined || ours === undefined) return []
      const failed = nest.errors === 0 ? '' : ` (${plural(nest.errors, 'request')} to Nest failed)`
      return ours.baseAhead.flatMap((figure) => {
        const [theirs, own] = [nest.figures[figure]?.median, ours.figures[figure]?.median]
        return theirs === undefined || own === undefined
          ? []
          : [[`${circumstances(contest)}${failed}`, ...cellsOf(figure, contest, theirs, own)]]
      })
    })
  if (rows.length === 0) return 'Nest is ahead in no figure of this run.'
  return [['load', 'figure', 'Nest', 'ours'], ['---', '---', '---:', '---:'], ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
}
