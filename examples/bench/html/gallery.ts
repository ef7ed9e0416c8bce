/** Which charts a contest has: those that say something of what was asked there. */

import type { Figure } from '../report/figures.ts'
import type { ContestResult } from '../report/schema.ts'
import { type Mode, taskOf } from '../task/task.ts'
import { barChart, type Chart, latencyChart, memoryChart } from './charts.ts'
import type { Series } from './series.ts'

interface Bars {
  readonly figure: Figure
  readonly title: string
  readonly caption: string
}

/** What each mode counts: its plural, and one of it. */
const UNITS: Readonly<Record<Mode, { many: string; one: string }>> = {
  request: { many: 'Right answers', one: 'request' },
  stream: { many: 'Values', one: 'value' },
  emit: { many: 'Events that the server has handled', one: 'event' },
  start: { many: 'Starts', one: 'start' },
  durable: { many: 'Stored events', one: 'event' }
}

const LATENCIES: Readonly<Record<Mode, { title: string; caption: string }>> = {
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

export function chartsOf(contest: ContestResult, series: readonly Series[]): Chart[] {
  const { mode } = taskOf(contest)
  const bars = (chart: Bars) => barChart(contest, series, chart)
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
