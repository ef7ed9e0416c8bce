/** The record of the last hour. */
import type { Figures } from './figures.ts'

/** The server's record of the last hour. The figures of a single service are requested separately. */
export interface HistoryView {
  readonly marks: readonly Mark[]
}

/** A change after which a service may behave differently. */
export interface Mark {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly service: string
  /** `version`: the service has another version than before; `process`: a new process of the service has begun. */
  readonly what: 'version' | 'process'
  readonly version: string
}

/** A figure over time; `null` for times without a value. */
export type Series = readonly (number | null)[]

/** The last hour of one service, or of one of its patterns. */
export interface PastView {
  /** The end of each step, in seconds since 1970. */
  readonly times: readonly number[]
  /** The figures of all patterns together, or of the requested pattern. */
  readonly figures: Readonly<Partial<Record<keyof Figures, Series>>>
  /** The busiest patterns by kind and pattern; empty if one pattern was requested. */
  readonly patterns: readonly { readonly key: string; readonly rate: Series; readonly errors: Series }[]
}
