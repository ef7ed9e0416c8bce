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
  /** Who called what, the busiest first; empty with the first sample. */
  readonly calls: readonly CallRate[]
}

/** What one caller asked of one pattern between two looks. */
export interface CallRate {
  /** The name that the caller gives itself; missing where it has none. */
  readonly caller?: string
  readonly from: 'client' | 'nest' | 'unnamed' | 'engine' | 'others'
  readonly kind: Kind
  readonly transport: string
  /** Empty: patterns that nobody handles. */
  readonly pattern: string
  /** A second. */
  readonly rate: number
  /** A second. */
  readonly errors: number
  /** Mean milliseconds of the handler; missing if there was no message. */
  readonly ms?: number
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

/** What the collector has, as far as every page is told: the rest is asked for (`TraceQuestion`). */
export interface TracesView {
  /** Traces that are kept, and such that had to make room for others. */
  readonly kept: number
  readonly dropped: number
  /** The latest, the newest first. */
  readonly latest: readonly TraceLine[]
  /** What services have sent each other lately, and to engines, as their spans tell. */
  readonly links: readonly Link[]
}

/** One trace of a list. */
export interface TraceLine {
  readonly id: string
  /** Of its first span: the pattern, mostly. */
  readonly name: string
  readonly service: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** Milliseconds from its first moment to its last. */
  readonly duration: number
  readonly spans: number
  readonly errors: number
  /** The services that took part. */
  readonly services: readonly string[]
}

/** Messages of one pattern from one service to another, or between a service and an engine. */
export interface Link {
  /** Missing: from the engine. */
  readonly from?: string
  /** Missing: to the engine. */
  readonly to?: string
  readonly kind: Kind
  /** What carries them. */
  readonly transport: string
  readonly pattern: string
  readonly rate: number
  readonly errors: number
  readonly ms: number
}

/** What a page asks of the collector. */
export type TraceQuestion =
  | {
      /** In ids, patterns, services, errors and attributes; empty: everything. */
      readonly text: string
      readonly onlyErrors: boolean
      /** Milliseconds that a trace took at least. */
      readonly longerThan: number
    }
  | { readonly trace: string }

/** One trace as it is shown. */
export interface TraceView {
  readonly id: string
  readonly spans: readonly SpanView[]
  /** Spans that there was no room for. */
  readonly leftOut: number
}

/** One span. */
export interface SpanView {
  readonly id: string
  /** Empty: it is the first, or what it belongs to has not come. */
  readonly parent: string
  readonly name: string
  readonly service: string
  readonly kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer'
  /** Milliseconds since 1970, with fractions. */
  readonly start: number
  /** Milliseconds. */
  readonly duration: number
  /** Missing: it has not failed. */
  readonly error?: string
  readonly attributes: readonly (readonly [name: string, value: string])[]
  /** What was said meanwhile: lines of logs, events of the span. */
  readonly logs: readonly LogLine[]
}

/** A line of a log, or an event of a span. */
export interface LogLine {
  /** Milliseconds since 1970, with fractions. */
  readonly at: number
  readonly level: string
  readonly text: string
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
