/** Which charts a contest has: those that say something of what was asked there. */

import type { Figure } from '../report/figures.ts'
import type { ContestResult } from '../report/schema.ts'
import { type Mode, type SuiteName, taskOf } from '../task/task.ts'
import { barChart, type Chart, latencyChart, memoryChart } from './charts.ts'
import type { Series } from './series.ts'

interface Bars {
  readonly figure: Figure
  readonly title: string
  readonly caption: string
}

/** Suites have charts of their own. */
type PeersMode = Exclude<Mode, 'suite'>

/** What each mode counts: its plural, and one of it. */
const UNITS: Readonly<Record<PeersMode, { many: string; one: string }>> = {
  request: { many: 'Right answers', one: 'request' },
  stream: { many: 'Values', one: 'value' },
  emit: { many: 'Events that the server has handled', one: 'event' },
  start: { many: 'Starts', one: 'start' },
  durable: { many: 'Stored events', one: 'event' }
}

const LATENCIES: Readonly<Record<PeersMode, { title: string; caption: string }>> = {
  request: {
    title: 'Latency by percentile',
    caption: 'Milliseconds that so many of all requests stay under, all runs together. Lower is better.'
  },
  stream: {
    title: 'First value by percentile',
    caption: 'Milliseconds until the first value of a stream is there, all runs together. Lower is better.'
  },
  emit: {
    title: 'Promise of an event by percentile',
    caption: 'Milliseconds until the client says that it is sent, all runs together.'
  },
  start: {
    title: 'First answer by percentile',
    caption: 'Milliseconds from the start of the process, all runs together. Lower is better.'
  },
  durable: {
    title: 'Until stored, by percentile',
    caption:
      'Milliseconds until the store has said that it has the event, all runs together. Lower is better.'
  }
}

const THROUGHPUT: Bars = {
  figure: 'rps',
  title: 'Throughput',
  caption: 'Right answers per second: the median, every run, and their spread. Higher is better.'
}
const TAIL: Bars = {
  figure: 'p99',
  title: 'Latency, p99',
  caption: 'Milliseconds that 99 of 100 right answers stay under. Lower is better.'
}
const SERVER_CPU: Bars = {
  figure: 'serverCpuUsPerRequest',
  title: 'CPU of the server per request',
  caption: 'Microseconds of user and system time, of all its processes. Lower is better.'
}
const LOADED: Bars = {
  figure: 'serverRssMb',
  title: 'Memory of the server under load',
  caption: 'MiB in RAM, of all its processes. Lower is better.'
}
const SUCCESS: Bars = {
  figure: 'successRate',
  title: 'Success',
  caption:
    'Percent of all requests that were answered rightly. Who refuses at once has fewer, and keeps what it admits.'
}

/** Of so many targets lines would be a tangle. */
const BARS_OF_SUITE: Readonly<Record<SuiteName, readonly Bars[]>> = {
  http: [THROUGHPUT, TAIL, SERVER_CPU, LOADED],
  pairs: [THROUGHPUT, TAIL, SERVER_CPU, LOADED],
  db: [THROUGHPUT, TAIL, SUCCESS, SERVER_CPU],
  scale: [THROUGHPUT, TAIL, SERVER_CPU, LOADED]
}

export function chartsOf(contest: ContestResult, series: readonly Series[]): Chart[] {
  const task = taskOf(contest)
  const bars = (chart: Bars) => barChart(contest, series, chart)
  if (task.mode === 'suite') return BARS_OF_SUITE[task.suite].map(bars)
  const { mode } = task
  const latency = latencyChart(contest, series, LATENCIES[mode])
  if (mode === 'start') {
    const first = {
      title: 'First answer',
      caption: 'Milliseconds from the start of the process. Lower is better.'
    }
    const listening = {
      title: 'Until it listens',
      caption: 'Milliseconds from the start of the process. Lower is better.'
    }
    return [bars({ figure: 'p50', ...first }), bars({ figure: 'listenMs', ...listening })]
  }
  const { many, one } = UNITS[mode]
  const charts = [
    bars({
      figure: 'rps',
      title: 'Throughput',
      caption: `${many} per second: the median, every run, and their spread. Higher is better.`
    }),
    latency,
    bars({
      figure: 'serverCpuUsPerRequest',
      title: `CPU of the server per ${one}`,
      caption: 'Microseconds of user and system time. Lower is better.'
    }),
    bars({
      figure: 'clientCpuUsPerRequest',
      title: `CPU of the client per ${one}`,
      caption: 'Microseconds, with what the measuring costs. Lower is better.'
    }),
    memoryChart(contest, series)
  ]
  if (mode === 'request') return charts
  const memory = bars({
    figure: 'clientRssPeak',
    title: 'Memory of the client',
    caption: 'MiB in RAM at most, with what the measuring holds. Lower is better.'
  })
  return [...charts, memory]
}
