/** Measures the delay of the event loop, from the first time that the metrics are read. */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import type { NumberMetric } from './metric.ts'

/** Milliseconds between the timers that measure the delay. */
const RESOLUTION = 20

let monitor: IntervalHistogram | undefined

/**
 * The delay since the previous call, under the names of the semantic conventions. The first call only starts the
 * measurement and returns no points.
 */
export function eventLoopDelay(): NumberMetric[] {
  const isFirst = monitor === undefined
  monitor ??= newMonitor()
  const { max } = monitor
  const figures = { p50: monitor.percentile(50), p99: monitor.percentile(99), max }
  const metrics = Object.entries(figures).map(
    ([name, value]): NumberMetric => ({
      kind: 'gauge',
      name: `nodejs.eventloop.delay.${name}`,
      description: `Delay of the event loop since the last collection: ${name}`,
      unit: 's',
      points: isFirst || max === 0 ? [] : [{ attributes: {}, value: value / 1e9 }]
    })
  )
  monitor.reset()
  return metrics
}

function newMonitor(): IntervalHistogram {
  const monitor = monitorEventLoopDelay({ resolution: RESOLUTION })
  monitor.enable()
  return monitor
}
