/** The messages between the server and the page: types alone. */

/** The services, as far as they change seldom. */
export interface Overview {
  /** Whether patterns may be called. */
  readonly canTry: boolean
  /** Milliseconds between two samples. */
  readonly interval: number
  readonly services: readonly ServiceView[]
  /** Services that are too many to be watched; missing if there are none. */
  readonly leftOut?: number
}

/** One service. What it has told of itself last stays while it cannot be asked. */
export interface ServiceView {
  /** Names what is shown: the service, and the instance where it has several. */
  readonly id: string
  /** The name that `console()` was given it under. */
  readonly service: string
  /** The id of this process; missing if it does not say so. */
  readonly instance?: string
  /** Why it tells nothing of itself at the moment; missing if it does. */
  readonly problem?: string
  /** It does not answer at all, which is worse than not to describe itself. */
  readonly isSilent?: true
  /** The engine that leads to it cannot be reached: nobody knows whether it runs. */
  readonly isCutOff?: true
  readonly described?: DescribedService
}

/** The description of a service, every text and number of it checked and bounded. */
export interface DescribedService {
  readonly name: string
  readonly version: string
  readonly status: string
  /** Whether it counts, by `telemetry()`. */
  readonly isCounted: boolean
  /** Missing: the page does not look at this service. */
  readonly patterns?: readonly PatternView[]
  /** The parts that were left out, in words. */
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

/** The figures of services since the sample before. */
export interface Sample {
  /** Milliseconds since 1970. */
  readonly at: number
  /** Services by their ids; one that has not answered since the sample before is missing. */
  readonly services: Readonly<Record<string, ServiceSample>>
}

/** The figures of one service. */
export interface ServiceSample {
  /** There are no rows and outboxes, and transports are but names: the page does not look at this service. */
  readonly isBrief?: true
  readonly transports: readonly TransportView[]
  /** Outboxes whose relays run in its process. */
  readonly outboxes: readonly OutboxView[]
  /** Requests and events of all patterns together, latencies of requests alone; missing with the first sample. */
  readonly total?: Figures
  readonly rows: readonly PatternFigures[]
  /** The calls of each caller, the busiest first; empty with the first sample. */
  readonly calls: readonly CallRate[]
}

/** The calls of one caller to one pattern between two looks. */
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

/** The figures of messages between two looks. */
export interface Figures {
  /** A second. */
  readonly rate: number
  /** Milliseconds; missing if there was no message, as are those below. */
  readonly p50?: number
  readonly p90?: number
  readonly p99?: number
  /** Milliseconds that half of the streams lived which have ended. The latencies above are without streams. */
  readonly lifetime?: number
  readonly inFlight: number
  /** A second. */
  readonly errors: number
  /** Errors a second that nobody threw on purpose. */
  readonly failures: number
}

/** The figures of one pattern. */
export interface PatternFigures extends Figures {
  readonly kind: Kind
  readonly pattern: string
}

/** A transport of a service. */
export interface TransportView {
  readonly name: string
  readonly address?: string
  readonly gauges: readonly GaugeView[]
  /** Why it takes no messages at the moment; missing while it does. */
  readonly unavailable?: string
  /** Its durable handlers. */
  readonly durable: readonly DurableView[]
}

/** One durable handler in one process. */
export interface DurableView {
  readonly pattern: string
  readonly group: string
  /** Events of the group that are not done; missing if that is not known. */
  readonly lag?: number
  readonly redeliveries: number
  /** Events that became dead letters in this process. */
  readonly deadLetters: number
  readonly isPaused: boolean
  /** Why it gets no events at the moment; missing while it does. */
  readonly unavailable?: string
}

/** The outbox of a database. */
export interface OutboxView {
  readonly schema: string
  /** Events that wait to be published. */
  readonly pending: number
  /** Milliseconds that the oldest of them has waited. */
  readonly lag: number
  /** Events that were put aside. */
  readonly failed: number
  /** By the relay of this process, since it began. */
  readonly published: number
  readonly retries: number
}

/** A number of a transport. */
export interface GaugeView {
  readonly name: string
  readonly value: number
  /** Missing if there is none. */
  readonly limit?: number
}

/**
 * The values that sources send to all pages beside services and samples, by the names of their topics: one line for
 * each screen that has a source (`sources/index.ts`). A page keeps the last value of each.
 */
export interface Topics {
  readonly events: EventsView
  readonly history: HistoryView
  readonly alerts: AlertsView
  readonly traces: TracesView
}

/** Durable events: who waits for them, and where they wait. */
export interface EventsView {
  readonly groups: readonly GroupView[]
  readonly outboxes: readonly OutboxOf[]
}

/** A group of handlers that share durable events, over all its processes. */
export interface GroupView {
  /** The name of the transport that stores its events. */
  readonly engine: string
  readonly group: string
  /** A service of the group, whose client reaches the engine. */
  readonly service: string
  readonly processes: number
  readonly handlers: readonly GroupHandler[]
  /** Dead letters that are there; above 100: more than 100. Missing: not known yet, or not at all. */
  readonly dead?: number
  /** Why that is not known. */
  readonly deadUnknown?: string
}

/** One pattern of a group. */
export interface GroupHandler {
  readonly pattern: string
  /** Events that are stored and not done; missing if that is not known. */
  readonly waits?: number
  /** Events that run at the moment; missing if nothing counts them. */
  readonly runs?: number
  /** Deliveries that were not the first, since the processes began. */
  readonly triedAgain: number
  /** Events that became dead letters, since the processes began. */
  readonly died: number
  readonly isPaused: boolean
  /** Why it gets no events at the moment; missing while it does. */
  readonly unavailable?: string
}

/** An outbox, and the service whose process has its relay. */
export interface OutboxOf extends OutboxView {
  readonly service: string
}

/** Dead letters of a group, the oldest first. */
export interface DeadLettersView {
  readonly letters: readonly DeadLetterView[]
  readonly hasMore: boolean
}

/** An event that its handlers could not do. */
export interface DeadLetterView {
  readonly position: string
  readonly pattern: string
  readonly id: string
  readonly key?: string
  readonly reason: string
  readonly attempts: number
  /** As JSON; `cut`: how many characters were left out. */
  readonly data: string
  readonly cut: number
  readonly traceId?: string
  /** Milliseconds since 1970. */
  readonly publishedAt: number
  readonly diedAt: number
  /** The parts that the engine had no room for. */
  readonly leftOut: readonly string[]
}

/** The server's record of the last hour. The figures of one service are asked for. */
export interface HistoryView {
  readonly marks: readonly Mark[]
}

/** Something that a service may behave differently after. */
export interface Mark {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly service: string
  /** `version`: it says another version of itself than before; `process`: a new process of it has begun. */
  readonly what: 'version' | 'process'
  readonly version: string
}

/** A figure over time; `null`: there was nothing. */
export type Series = readonly (number | null)[]

/** The last hour of one service, or of one of its patterns. */
export interface PastView {
  /** Seconds since 1970, the end of each step. */
  readonly times: readonly number[]
  /** Of all patterns together, or of the one that was asked for. */
  readonly figures: Readonly<Partial<Record<keyof Figures, Series>>>
  /** The busiest patterns by kind and pattern; none if one was asked for. */
  readonly patterns: readonly { readonly key: string; readonly rate: Series; readonly errors: Series }[]
}

/** The problems, present and past. */
export interface AlertsView {
  readonly alerts: readonly AlertView[]
  /** Past problems, the latest first. */
  readonly past: readonly PastAlertView[]
}

/** Something that is wrong. */
export interface AlertView {
  /** Tells it from all others. */
  readonly key: string
  readonly kind: 'silent' | 'engine' | 'lag' | 'dead' | 'errors' | 'outbox'
  /** In a few words. */
  readonly title: string
  /** Details of the problem. */
  readonly detail: string
  /** Advice. */
  readonly advice: string
  /** Milliseconds since 1970. */
  readonly since: number
  /** The screen that shows more, and what of it. */
  readonly place: readonly string[]
}

/** Something that was wrong. */
export interface PastAlertView extends AlertView {
  readonly until: number
}

/** The traces that are kept. */
/** The collector's content as far as it is sent to every page: the rest is asked for (`TraceQuestion`). */
export interface TracesView {
  /** Traces that are kept, and such that had to make room for others. */
  readonly kept: number
  readonly dropped: number
  /** The latest, the newest first. */
  readonly latest: readonly TraceLine[]
  /** The messages between services, and to engines, that recent spans show. */
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
  /** The transport that carries them. */
  readonly transport: string
  readonly pattern: string
  readonly rate: number
  readonly errors: number
  readonly ms: number
}

/** A page's question to the collector. */
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
  /** Lines of logs and events of the span. */
  readonly logs: readonly LogLine[]
}

/** A line of a log, or an event of a span. */
export interface LogLine {
  /** Milliseconds since 1970, with fractions. */
  readonly at: number
  readonly level: string
  readonly text: string
}

/** An item of the stream of updates. */
export type Update =
  | { readonly overview: Overview }
  | { readonly sample: Sample }
  | { readonly topics: Partial<Topics> }

/** The handlers of the page's server. */
export type ConsoleService = {
  /** @param look the id of the service that is told in full; all others are told in brief */
  updates(look?: { readonly service?: string | undefined }): AsyncIterable<Update>
  /** Calls a pattern; the end of the stream is the end of the answer. */
  try(trial: Trial): AsyncIterable<TrialUpdate>
} & {
  /** Answers to questions of a single page. */
  [Topic in keyof Topics as `ask.${Topic}`]: (question: unknown) => unknown
}

/** A message that the page asks to be sent. */
export interface Trial {
  readonly service: string
  readonly kind: Kind
  readonly pattern: string
  /** Missing: nothing. */
  readonly data?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A value of the answer, or its error. */
export type TrialUpdate =
  /** `cut`: how many characters were left out. */
  { readonly value: string; readonly cut: number } | { readonly error: TrialError }

/** The error of a trial. */
export interface TrialError {
  readonly code: string
  readonly message: string
  /** As JSON. */
  readonly details?: string
}
