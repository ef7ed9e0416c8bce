/** Passes durations to an OpenTelemetry SDK, through the SDK's interface for metrics that were counted elsewhere. */
import type { Attributes, HrTime } from '@opentelemetry/api'
import { figures } from '../figures/figures.ts'
import { CONVENTIONAL_BOUNDS, type Histogram } from '../figures/histogram.ts'
import { SCOPE } from '../traces/attributes.ts'
import { histograms } from './collect.ts'

/** The SDK's values of `DataPointType.HISTOGRAM`, `AggregationTemporality.CUMULATIVE` and `ValueType.DOUBLE`. */
const HISTOGRAM = 0
const CUMULATIVE = 1
const DOUBLE = 1

/** The interface `MetricProducer` of an SDK, written out here so that users without an SDK need none of its types. */
export interface DurationProducer {
  /** The histograms of all durations since the start of the process. Never rejects. */
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

/** An empty resource. The SDK uses its own resource and ignores the producer's. */
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
 * Passes durations of requests and events to a metric reader of an SDK: `new PeriodicExportingMetricReader({
 * exporter, metricProducers: [metricProducer()] })`. A producer is used because the API has no histogram that is
 * read at collection, and recording each message in an SDK's histogram would cost more than most messages.
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
