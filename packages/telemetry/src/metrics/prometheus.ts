/** Writes the figures in Prometheus' text format, using prom-client. */
import { consoleLogger, loggerOf, quietLog } from '@elysia-microservices/transport/kit'
import type { Metric, Registry } from 'prom-client'
import { CONVENTIONAL_BOUNDS } from '../figures/histogram.ts'
import { histograms, numbers } from './collect.ts'
import type { HistogramMetric, NumberMetric } from './metric.ts'
import { readOutboxes } from './outbox.ts'

const log = quietLog(loggerOf(consoleLogger))

/** The interface through which prom-client reads a metric. Such objects are made for each answer. */
interface Written {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly values: readonly {
    readonly value: number
    readonly labels: Readonly<Record<string, string | number>>
    /** The name of the sample. Default: the name of the metric. */
    readonly metricName?: string
  }[]
}

/** Writes all figures, and the metrics of the user's registry. @returns the text and its content type */
export async function prometheusText(others?: Registry): Promise<{ text: string; contentType: string }> {
  // prom-client is loaded at the first request, because most processes are never asked.
  const { Registry } = (await import('prom-client')).default
  const registry = new Registry()
  await readOutboxes()
  for (const metric of [...histograms().map(writeHistogram), ...numbers().map(writeNumbers)]) {
    if (metric.values.length > 0) registry.registerMetric(asMetric(metric))
  }
  const text = await registry.metrics()
  return {
    text: others === undefined ? text : `${text}\n${await textOf(others)}`,
    contentType: registry.contentType
  }
}

/** The metrics of the user's registry; none if they cannot be read, because those of this library can. */
async function textOf(registry: Registry): Promise<string> {
  try {
    const text: unknown = await registry.metrics()
    if (typeof text === 'string') return text
    throw new TypeError('metrics() of the registry must return a text')
  } catch (error) {
    log.error(
      'registry',
      'metrics(): the metrics of options.registry cannot be read, and are left out',
      error
    )
    return ''
  }
}

/**
 * Makes a name by OpenTelemetry's rules for Prometheus: dots become underscores, and the unit and then `_total` are
 * appended.
 */
function prometheusName({ name, unit, kind }: NumberMetric | HistogramMetric): string {
  const words = { s: '_seconds', By: '_bytes' }[unit] ?? ''
  return name.replace(/[^a-zA-Z0-9_]/g, '_') + words + (kind === 'counter' ? '_total' : '')
}

function labels(attributes: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name.replace(/[^a-zA-Z0-9_]/g, '_'), value])
  )
}

function writeNumbers(metric: NumberMetric): Written {
  return {
    name: prometheusName(metric),
    help: metric.description,
    type: metric.kind === 'counter' ? 'counter' : 'gauge',
    values: metric.points.map(({ attributes, value }) => ({ value, labels: labels(attributes) }))
  }
}

function writeHistogram(metric: HistogramMetric): Written {
  const name = prometheusName(metric)
  const values = metric.points.flatMap(({ attributes, value: { conventional, sum, count } }) => {
    const own = labels(attributes)
    let below = 0
    const buckets = conventional.map((inBucket, index) => {
      below += inBucket
      const le = CONVENTIONAL_BOUNDS[index] ?? '+Inf'
      return { metricName: `${name}_bucket`, value: below, labels: { ...own, le } }
    })
    return [
      ...buckets,
      { metricName: `${name}_sum`, value: sum, labels: own },
      { metricName: `${name}_count`, value: count, labels: own }
    ]
  })
  return { name, help: metric.description, type: 'histogram', values }
}

/**
 * The cast is safe: prom-client uses only these fields of a metric. Its own classes cannot be used, because they
 * count by themselves.
 */
function asMetric(metric: Written): Metric {
  return { name: metric.name, get: async () => metric } as unknown as Metric
}
