/** Metrics in OpenTelemetry's terms. */
import type { Histogram } from '../figures/histogram.ts'

/** A value with its attributes. */
export interface Point<Value> {
  readonly attributes: Readonly<Record<string, string>>
  readonly value: Value
}

interface Described {
  /** The name in OpenTelemetry's form, with dots. */
  readonly name: string
  readonly description: string
  /** The unit in UCUM notation, such as `s` or `{call}`. */
  readonly unit: string
}

/**
 * A number: a counter only grows, an up-down counter may shrink and can be summed over processes, and a gauge is a
 * momentary value.
 */
export interface NumberMetric extends Described {
  readonly kind: 'counter' | 'updown' | 'gauge'
  readonly points: readonly Point<number>[]
}

/** A histogram of durations. */
export interface HistogramMetric extends Described {
  readonly kind: 'histogram'
  readonly points: readonly Point<Histogram>[]
}
