/** Where Nest is ahead, as sentences. */
import { describeTask, layoutOf, payloadOf } from '../report/contest.ts'
import { type Figure, figures, plural } from '../report/figures.ts'
import type { Comparison, ContestResult } from '../report/schema.ts'
import { type Mode, taskOf } from '../task/task.ts'
import { shown } from './cells.ts'

type Said = Readonly<Partial<Record<Figure, string>>>

const SAID: Said = {
  rps: 'answers more requests a second',
  p50: 'has the lower median latency',
  p90: 'has the lower latency at the 90th percentile',
  p99: 'has the lower latency at the 99th percentile',
  max: 'has the lower highest latency',
  serverCpuUsPerRequest: 'needs less CPU in the server',
  clientCpuUsPerRequest: 'needs less CPU in the client',
  serverRssMb: 'has the smaller server under load',
  rssIdle: 'has the smaller idle server',
  rssPeak: 'has the lower peak memory in the server',
  rssAfter: 'has the smaller server after the load',
  clientRssPeak: 'has the lower peak memory in the client'
}

/** Where a figure is called something else. */
const SAID_OF: Readonly<Partial<Record<Mode, Said>>> = {
  stream: {
    rps: 'delivers more values a second',
    p50: 'has the first value sooner in the median',
    p99: 'has the first value sooner at the 99th percentile'
  },
  emit: {
    rps: 'handles more events a second',
    p50: 'settles the promise of `emit` sooner in the median',
    p99: 'settles the promise of `emit` sooner at the 99th percentile'
  }
}

const UNITS: readonly (readonly [end: string, unit: string])[] = [
  ['MiB', ' MiB'],
  ['ms', ' ms'],
  ['µs/req', ' µs']
]

function phrase(figure: Figure, contest: ContestResult, nest: number, ours: number): string {
  const said =
    SAID_OF[taskOf(contest).mode]?.[figure] ?? SAID[figure] ?? `is ahead in ${figures[figure].title}`
  const unit = UNITS.find(([end]) => figures[figure].title.endsWith(end))?.[1] ?? ''
  return `${said} (${shown(figure, nest)}${unit}, ours ${shown(figure, ours)}${unit})`
}

function circumstances(contest: ContestResult): string {
  const asked = describeTask(taskOf(contest))
  const runtime = contest.runtime === 'node' ? 'Node' : 'Bun'
  return [payloadOf(contest), ...(asked === '' ? [] : [asked]), layoutOf(contest), runtime].join(', ')
}

/** A sentence for each contest of both clients in which the median of the ratios is Nest's in any figure. */
export function nestAhead({ contests }: Comparison): string {
  const sentences = contests
    .filter(({ client, scope }) => client === 'own' && scope === undefined)
    .flatMap((contest) => {
      const nest = contest.results.find(({ target }) => target === 'nest')
      const ours = contest.results.find(({ ratioTo }) => ratioTo === 'nest')
      if (nest === undefined || ours === undefined) return []
      const said = ours.baseAhead.flatMap((figure) => {
        const [theirs, own] = [nest.figures[figure]?.median, ours.figures[figure]?.median]
        return theirs === undefined || own === undefined ? [] : [phrase(figure, contest, theirs, own)]
      })
      const failed = nest.errors === 0 ? '' : ` (${plural(nest.errors, 'request')} to Nest failed here.)`
      return said.length === 0
        ? []
        : [`- Nest ${new Intl.ListFormat('en').format(said)}: ${circumstances(contest)}.${failed}`]
    })
  return sentences.length === 0 ? 'Nest is ahead in no figure of this run.' : sentences.join('\n')
}
