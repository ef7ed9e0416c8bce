/** The figures that are compared, in the order of the table's columns, with their names in each mode. */
import { isOfBacklog, isOfValues, type Mode, type SuiteName, type Task, taskOf } from '../task/task.ts'

export const figures = {
  rps: { title: 'req/s', digits: 0, better: 'higher' },
  successRate: { title: 'success %', digits: 2, better: 'higher' },
  average: { title: 'avg ms', digits: 3, better: 'lower' },
  min: { title: 'min ms', digits: 3, better: 'lower' },
  p50: { title: 'p50 ms', digits: 3, better: 'lower' },
  p90: { title: 'p90 ms', digits: 3, better: 'lower' },
  p95: { title: 'p95 ms', digits: 3, better: 'lower' },
  p99: { title: 'p99 ms', digits: 3, better: 'lower' },
  max: { title: 'max ms', digits: 3, better: 'lower' },
  refused: { title: 'refused', digits: 0, better: 'lower' },
  refusedP50: { title: 'refused p50 ms', digits: 3, better: 'lower' },
  refusedP99: { title: 'refused p99 ms', digits: 3, better: 'lower' },
  failedP50: { title: 'failed p50 ms', digits: 3, better: 'lower' },
  perWorker: { title: 'req/s per worker', digits: 0, better: 'higher' },
  firstAnswerMs: { title: 'first answer ms', digits: 0, better: 'lower' },
  listenMs: { title: 'listening ms', digits: 1, better: 'lower' },
  lost: { title: 'lost', digits: 0, better: 'lower' },
  sent: { title: 'sent', digits: 0, better: 'higher' },
  arrived: { title: 'arrived', digits: 0, better: 'higher' },
  serverCpuUsPerRequest: { title: 'server µs/req', digits: 2, better: 'lower' },
  engineCpuUsPerRequest: { title: 'engine µs/req', digits: 2, better: 'lower' },
  clientCpuUsPerRequest: { title: 'client µs/req', digits: 2, better: 'lower' },
  serverRssMb: { title: 'server MiB', digits: 1, better: 'lower' },
  rssIdle: { title: 'idle MiB', digits: 1, better: 'lower' },
  rssPeak: { title: 'peak MiB', digits: 1, better: 'lower' },
  rssAfter: { title: 'after MiB', digits: 1, better: 'lower' },
  clientRssPeak: { title: 'client peak MiB', digits: 1, better: 'lower' }
} as const
export type Figure = keyof typeof figures
export const figureNames = Object.keys(figures) as Figure[]

const MEMORY = ['serverRssMb', 'rssIdle', 'rssPeak', 'rssAfter'] as const
export const CPU = ['serverCpuUsPerRequest', 'engineCpuUsPerRequest', 'clientCpuUsPerRequest'] as const

const FIGURES_OF: Readonly<Record<Mode, readonly Figure[]>> = {
  request: ['rps', 'p50', 'p90', 'p99', 'max', ...CPU, ...MEMORY],
  stream: ['rps', 'p50', 'p99', ...CPU, 'rssIdle', 'rssPeak', 'rssAfter', 'clientRssPeak'],
  emit: ['rps', 'sent', 'arrived', 'lost', 'p50', 'p99', ...CPU, 'rssPeak', 'clientRssPeak'],
  start: ['p50', 'max', 'listenMs', 'rssIdle'],
  // Each suite has its own figures.
  suite: [],
  // The server's process only runs the store, which is another project's program.
  durable: ['rps', 'p50', 'p99', 'engineCpuUsPerRequest', 'clientCpuUsPerRequest', 'clientRssPeak']
}

const OVER_HTTP: readonly Figure[] = [
  ...(['rps', 'successRate', 'average', 'min', 'p50', 'p90', 'p95', 'p99', 'max'] as const),
  ...(['serverCpuUsPerRequest', 'rssIdle', 'serverRssMb', 'firstAnswerMs'] as const)
]

const OF_SUITE: Readonly<Record<SuiteName, readonly Figure[]>> = {
  http: OVER_HTTP,
  pairs: OVER_HTTP,
  db: [
    ...['rps', 'successRate', 'p50', 'p99', 'refused', 'refusedP50', 'refusedP99', 'failedP50'],
    ...['serverCpuUsPerRequest', 'serverRssMb']
  ] as Figure[],
  web: ['rps', 'p50', 'p99', 'serverCpuUsPerRequest', 'rssIdle', 'rssPeak', 'rssAfter'],
  scale: ['rps', 'perWorker', 'p50', 'p99', 'serverCpuUsPerRequest', 'serverRssMb']
}

interface Asked {
  readonly task?: Task | undefined
  /** The results of the contest; `undefined`: not known yet. */
  readonly results?: readonly { readonly figures: Readonly<Partial<Record<Figure, unknown>>> }[]
}

/** For a reader that waits: only the memory of client and server. */
const OF_SLOW_READER: readonly Figure[] = ['rssPeak', 'clientRssPeak', 'rssIdle', 'rssAfter']

/** For events that are stored already, which have no latency. */
const OF_BACKLOG: readonly Figure[] = [
  'rps',
  'engineCpuUsPerRequest',
  'clientCpuUsPerRequest',
  'clientRssPeak'
]

/** The figures that are meaningful for a task. */
export function figuresOf(asked: Asked): readonly Figure[] {
  const isBetween = asked.results?.some(({ figures: known }) => known.engineCpuUsPerRequest != null) ?? true
  return isBetween ? ofTask(asked) : ofTask(asked).filter((figure) => figure !== 'engineCpuUsPerRequest')
}

function ofTask(asked: Asked): readonly Figure[] {
  const task = taskOf(asked)
  if (task.mode === 'suite') return OF_SUITE[task.suite]
  if (isOfBacklog(task)) return OF_BACKLOG
  return task.mode === 'stream' && task.pause > 0 ? OF_SLOW_READER : FIGURES_OF[task.mode]
}

/** The figures that are compared: sending more events than arrive is no advantage. */
export const comparedFiguresOf = (asked: Asked): readonly Figure[] =>
  figuresOf(asked).filter((figure) => !NO_CONTEST.includes(figure))

/** Figures in which nobody wins: for example, a target that refuses at once what it cannot do has not lost. */
const NO_CONTEST: readonly Figure[] = ['sent', 'arrived', 'refused', 'refusedP50', 'refusedP99', 'failedP50']

const TITLES: Readonly<Record<Mode, Readonly<Partial<Record<Figure, string>>>>> = {
  request: {},
  stream: {
    rps: 'values/s',
    p50: 'first value p50 ms',
    p99: 'first value p99 ms',
    serverCpuUsPerRequest: 'server µs/value',
    engineCpuUsPerRequest: 'engine µs/value',
    clientCpuUsPerRequest: 'client µs/value',
    rssPeak: 'server peak MiB'
  },
  emit: {
    rps: 'handled/s',
    p50: 'promise p50 ms',
    p99: 'promise p99 ms',
    serverCpuUsPerRequest: 'server µs/event',
    engineCpuUsPerRequest: 'engine µs/event',
    clientCpuUsPerRequest: 'client µs/event',
    rssPeak: 'server peak MiB'
  },
  start: { p50: 'first answer ms', max: 'slowest ms' },
  suite: { serverRssMb: 'loaded MiB' },
  durable: {
    rps: 'events/s',
    p50: 'stored p50 ms',
    p99: 'stored p99 ms',
    engineCpuUsPerRequest: 'engine µs/event',
    clientCpuUsPerRequest: 'client µs/event',
    clientRssPeak: 'peak MiB'
  }
}

/** The title of a figure for this task. */
export function titleOfFigure(figure: Figure, asked: Asked): string {
  const task = taskOf(asked)
  const mode = task.mode === 'suite' && isOfValues(task) ? 'stream' : task.mode
  return TITLES[mode][figure] ?? figures[figure].title
}

/** A figure as text: `12,346`, `0.158`; `–` if it is not known. */
export const format = (figure: Figure, value: number | null | undefined): string => {
  const { digits } = figures[figure]
  return value === undefined || value === null
    ? '–'
    : value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

export const times = (ratio: number | undefined): string =>
  ratio === undefined ? '–' : `${ratio.toFixed(2)}x`

export const plural = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
