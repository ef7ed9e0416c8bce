/** Durations for an OpenTelemetry SDK, by the interface through which it takes metrics of others. */
import type { Attributes, HrTime } from '@opentelemetry/api'
import { figures } from '../figures/figures.ts'
import { CONVENTIONAL_BOUNDS, type Histogram } from '../figures/histogram.ts'
import { SCOPE } from '../traces/attributes.ts'
import { histograms } from './collect.ts'

/** `DataPointType.HISTOGRAM`, `AggregationTemporality.CUMULATIVE` and `ValueType.DOUBLE` of the SDK. */
const HISTOGRAM = 0
const CUMULATIVE = 1
const DOUBLE = 1

/** The shape of an SDK's `MetricProducer`, written out so that users without an SDK need none of its types. */
export interface DurationProducer {
  /** The histograms of all durations since the process has begun. Never rejects. */
  collect(): Promise<{
    resourceMetrics: { resource: NoResource; scopeMetrics: ScopeDurations[] }
    errors: unknown[]
  }>
}

interface ScopeDurations {
  scope: { readonly name: string }
  metrics: DurationData[]
}

interface DurationData {
  readonly descriptor: {
    readonly name: string
    readonly description: string
    readonly unit: string
    readonly valueType: typeof DOUBLE
  }
  readonly aggregationTemporality: typeof CUMULATIVE
  readonly dataPointType: typeof HISTOGRAM
  readonly dataPoints: {
    readonly startTime: HrTime
    readonly endTime: HrTime
    readonly attributes: Attributes
    readonly value: {
      readonly buckets: { readonly boundaries: number[]; readonly counts: number[] }
      readonly sum: number
      readonly count: number
    }
  }[]
}

/** The resource is the SDK's own: it reads none of its producers. */
interface NoResource {
  readonly attributes: Attributes
  merge(other: NoResource | null): NoResource
  getRawAttributes(): []
}

const NO_RESOURCE: NoResource = {
  attributes: {},
  merge: (other) => other ?? NO_RESOURCE,
  getRawAttributes: () => []
}

/**
 * Gives durations of requests and events to a metric reader of an SDK:
 * `new PeriodicExportingMetricReader({ exporter, metricProducers: [metricProducer()] })`. The API has no histogram that
 * is read when somebody collects, and one call into an SDK a message costs more than most messages.
 */
export function metricProducer(): DurationProducer {
  return {
    async collect() {
      const startTime = toHrTime(figures.since)
      const endTime = toHrTime(Date.now())
      const metrics = histograms()
        .filter(({ points }) => points.length > 0)
        .map(
          ({ name, description, unit, points }): DurationData => ({
            descriptor: { name, description, unit, valueType: DOUBLE },
            aggregationTemporality: CUMULATIVE,
            dataPointType: HISTOGRAM,
            dataPoints: points.map(({ attributes, value }) => ({
              startTime,
              endTime,
              attributes,
              value: toData(value)
            }))
          })
        )
      return {
        resourceMetrics: { resource: NO_RESOURCE, scopeMetrics: [{ scope: { name: SCOPE }, metrics }] },
        errors: []
      }
    }
  }
}

function toData({ conventional, sum, count }: Histogram): DurationData['dataPoints'][number]['value'] {
  return { buckets: { boundaries: [...CONVENTIONAL_BOUNDS], counts: conventional }, sum, count }
}

function toHrTime(ms: number): HrTime {
  return [Math.floor(ms / 1_000), (ms % 1_000) * 1e6]
}
