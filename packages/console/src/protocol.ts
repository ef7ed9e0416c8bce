/** What the server tells the page, and what the page asks of it: types alone. */

/** The services, as far as they change seldom. */
export interface Overview {
  /** Whether patterns may be called. */
  readonly canTry: boolean
  /** Milliseconds between two samples. */
  readonly interval: number
  readonly services: readonly ServiceView[]
}

/** One service. What it has told of itself last stays while it cannot be asked. */
export interface ServiceView {
  /** Names what is shown: the service, and the instance where it has several. */
  readonly id: string
  /** What `console()` was given it under. */
  readonly service: string
  /** Which of its processes this is; missing if it does not say so. */
  readonly instance?: string
  /** Why it tells nothing of itself at the moment; missing if it does. */
  readonly problem?: string
  readonly described?: DescribedService
}

/** What a service tells of itself, every text and number of it checked and bounded. */
export interface DescribedService {
  readonly name: string
  readonly version: string
  readonly status: string
  /** Whether it counts, by `telemetry()`. */
  readonly isCounted: boolean
  readonly patterns: readonly PatternView[]
  /** What was left out, in words. */
  readonly leftOut: readonly string[]
}

/** A JSON Schema. Nothing but its being a JSON object is sure. */
export type Schema = Readonly<Record<string, unknown>>

/** One pattern of one handler. */
export interface PatternView {
  readonly kind: Kind
  /** `exact`: it can be called as it is written. */
  readonly form: 'exact' | 'wildcard' | 'regexp' | 'all'
  readonly pattern: string
  readonly data?: Schema
  readonly headers?: Schema
  readonly response?: Schema
  /** The errors of its contract by code, each with the schema of its details. */
  readonly errors?: Schema
  readonly hooks: readonly string[]
}

export type Kind = 'message' | 'event'

/** What services did since the sample before. */
export interface Sample {
  /** Milliseconds since 1970. */
  readonly at: number
  /** Services by their ids; one that has not answered since the sample before is missing. */
  readonly services: Readonly<Record<string, ServiceSample>>
}

/** What one service did. */
export interface ServiceSample {
  readonly transports: readonly TransportView[]
  /** Requests of all patterns together; missing with the first sample. */
  readonly total?: Figures
  readonly rows: readonly PatternFigures[]
}

/** What messages did between two looks. */
export interface Figures {
  /** A second. */
  readonly rate: number
  /** Milliseconds; missing if there was no message, as are those below. */
  readonly p50?: number
  readonly p90?: number
  readonly p99?: number
  readonly inFlight: number
  /** A second. */
  readonly errors: number
}

/** Those of one pattern. */
export interface PatternFigures extends Figures {
  readonly kind: Kind
  readonly pattern: string
}

/** What carries messages of a service. */
export interface TransportView {
  readonly name: string
  readonly address?: string
  readonly gauges: readonly GaugeView[]
}

/** A number of a transport. */
export interface GaugeView {
  readonly name: string
  readonly value: number
  /** Missing if there is none. */
  readonly limit?: number
}

/**
 * What sources tell all pages beside services and samples, by the names of their topics: one line for each screen that
 * has a source (`sources/index.ts`). A page keeps the last value of each.
 */
export interface Topics {
  readonly traces: TracesView
}

/** The traces that are kept. */
export interface TracesView {
  readonly kept: number
}

/** What the stream of updates consists of. */
export type Update =
  | { readonly overview: Overview }
  | { readonly sample: Sample }
  | { readonly topics: Partial<Topics> }

/** What the page asks to be sent. */
export interface Trial {
  readonly service: string
  readonly kind: Kind
  readonly pattern: string
  /** Missing: nothing. */
  readonly data?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** What comes back. The end of the stream is the end of the answer. */
export type TrialUpdate =
  /** `cut`: how many characters were left out. */
  { readonly value: string; readonly cut: number } | { readonly error: TrialError }

/** How a trial failed. */
export interface TrialError {
  readonly code: string
  readonly message: string
  /** As JSON. */
  readonly details?: string
}
