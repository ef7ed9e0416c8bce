/** A metric as OpenTelemetry describes it. */
import type { Histogram } from '../figures/histogram.ts'

/** A figure of one thing. */
export interface Point<Value> {
  readonly attributes: Readonly<Record<string, string>>
  readonly value: Value
}

interface Described {
  /** As OpenTelemetry writes it, with dots. */
  readonly name: string
  readonly description: string
  /** By UCUM, such as `s` or `{call}`. */
  readonly unit: string
}

/** A figure: one that only grows, one that goes up and down and may be added up, or one of the moment. */
export interface NumberMetric extends Described {
  readonly kind: 'counter' | 'updown' | 'gauge'
  readonly points: readonly Point<number>[]
}

/** Durations in buckets. */
export interface HistogramMetric extends Described {
  readonly kind: 'histogram'
  readonly points: readonly Point<Histogram>[]
}
