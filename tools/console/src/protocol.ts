/** The types of the messages between the server and the page. */
import type { ProgramsView } from './programs.ts'

/** The facts about services that change rarely. */
export interface Overview {
  /** Whether the page may call patterns. */
  readonly canTry: boolean
  /** Milliseconds between two samples. */
  readonly interval: number
  readonly services: readonly ServiceView[]
  /** The number of services that are not watched, because there are too many; missing if there are none. */
  readonly leftOut?: number
}

/** One service, or one process of it. Its last description is kept while it does not answer. */
export interface ServiceView {
  /** Identifies the view: the service, and the instance if the service has several. */
  readonly id: string
  /** The name under which `consolePage()` got the service's client. */
  readonly service: string
  /** The id of this process; missing if the service does not send one. */
  readonly instance?: string
  /** The reason why the service does not describe itself at the moment; missing if it does. */
  readonly problem?: string
  /** The service does not answer at all, which is worse than refusing to describe itself. */
  readonly isSilent?: true
  /** The engine between the console and the service cannot be reached, so it is unknown whether the service runs. */
  readonly isCutOff?: true
  readonly described?: DescribedService
}

/** The description of a service. All its texts and numbers have been checked and are limited in size. */
export interface DescribedService {
  readonly name: string
  readonly version: string
  readonly status: string
  /** Whether the service counts messages with `telemetry()`. */
  readonly isCounted: boolean
  /** Missing if the page does not show this service. */
  readonly patterns?: readonly PatternView[]
  /** The parts that were left out because of limits, in words. */
  readonly leftOut: readonly string[]
}

/** A JSON Schema. It is only certain that it is a JSON object. */
export type Schema = Readonly<Record<string, unknown>>

/** One pattern of one handler. */
export interface PatternView {
  readonly kind: Kind
  /** Only a pattern with the form `exact` can be called as it is written. */
  readonly form: 'exact' | 'wildcard' | 'regexp' | 'all'
  readonly pattern: string
  readonly data?: Schema
  readonly headers?: Schema
  readonly response?: Schema
  /** The errors that the pattern declares, by code, each with the schema of its details. */
  readonly errors?: Schema
  /** Milliseconds that the handler may take; missing if it says none. */
  readonly timeout?: number
  /** The handler may run twice. */
  readonly idempotent?: true
  readonly hooks: readonly string[]
}

export type Kind = 'message' | 'event'

/** The figures of services since the previous sample. */
export interface Sample {
  /** Milliseconds since 1970. */
  readonly at: number
  /** The samples by the ids of services. A service that has not answered since the previous sample is missing. */
  readonly services: Readonly<Record<string, ServiceSample>>
}

/** The figures of one service. */
export interface ServiceSample {
  /**
   * The sample has no rows and outboxes, and only the names of transports, because the page does not show this
   * service.
   */
  readonly isBrief?: true
  readonly transports: readonly TransportView[]
  /** The outboxes whose relays run in the service's process. */
  readonly outboxes: readonly OutboxView[]
  /**
   * The figures of all patterns together: requests and events, but latencies of requests only. Missing in the first
   * sample.
   */
  readonly total?: Figures
  readonly rows: readonly PatternFigures[]
  /** The calls of each caller, the busiest first; empty in the first sample. */
  readonly calls: readonly CallRate[]
}

/** The calls of one caller to one pattern between two samples. */
export interface CallRate {
  /** The name that the caller has given itself; missing if it has none. */
  readonly caller?: string
  readonly from: 'client' | 'nest' | 'unnamed' | 'engine' | 'others'
  readonly kind: Kind
  readonly transport: string
  /** Empty for patterns that have no handler. */
  readonly pattern: string
  /** The number of calls a second. */
  readonly rate: number
  /** Errors a second. */
  readonly errors: number
  /** Mean duration of the handler in milliseconds; missing if there was no message. */
  readonly ms?: number
}

/** The figures of messages between two samples. */
export interface Figures {
  /** Messages a second. */
  readonly rate: number
  /** Median duration in milliseconds; missing if there was no message, like the next two fields. */
  readonly p50?: number
  readonly p90?: number
  readonly p99?: number
  /** Median lifetime in milliseconds of the streams that have ended. The latencies above do not include streams. */
  readonly lifetime?: number
  readonly inFlight: number
  /** Failed messages a second. */
  readonly errors: number
  /** Errors a second that nobody has thrown on purpose. */
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
  /** The reason why the transport takes no messages at the moment; missing if it does. */
  readonly unavailable?: string
  /** The durable handlers of the transport. */
  readonly durable: readonly DurableView[]
}

/** One durable handler in one process. */
export interface DurableView {
  readonly pattern: string
  readonly group: string
  /** Events of the group that have not been handled; missing if the number is unknown. */
  readonly lag?: number
  readonly redeliveries: number
  /** Events that became dead letters in this process. */
  readonly deadLetters: number
  readonly isPaused: boolean
  /** The reason why the handler gets no events at the moment; missing if it does. */
  readonly unavailable?: string
}

/** The outbox of a database. */
export interface OutboxView {
  readonly schema: string
  /** Events that wait to be published. */
  readonly pending: number
  /** Milliseconds that the oldest waiting event has waited. */
  readonly oldest: number
  /** Events that the engine has refused as invalid or too large. They are kept. */
  readonly failed: number
  /** Events that the relay of this process has published since its start. */
  readonly published: number
  readonly retries: number
}

/** A number of a transport. */
export interface GaugeView {
  readonly name: string
  readonly value: number
  /** The limit for the number; missing if there is none. */
  readonly limit?: number
}

/**
 * The values that the server's sources send to all pages, in addition to services and samples, by their topics.
 * Each screen with a source has one line here (see `sources/index.ts`). A page keeps the last value of each topic.
 */
export interface Topics {
  readonly programs: ProgramsView
  readonly events: EventsView
  readonly history: HistoryView
  readonly alerts: AlertsView
  readonly traces: TracesView
}

/** Durable events: the groups that handle them, and the outboxes in which they wait. */
export interface EventsView {
  readonly groups: readonly GroupView[]
  /** The stores in which events wait for their time. */
  readonly stores: readonly StoreView[]
  readonly outboxes: readonly OutboxOf[]
}

/** A store that keeps events until their time comes. */
export interface StoreView {
  /** The name of the transport or store. */
  readonly engine: string
  /** A service whose client is used to reach it. */
  readonly service: string
}

/** Events that wait for their time, the soonest first. */
export interface WaitingEventsView {
  readonly events: readonly WaitingEventView[]
  readonly hasMore: boolean
}

/** An event that waits for its time. */
export interface WaitingEventView {
  readonly pattern: string
  readonly id: string
  readonly key?: string
  /** Its time, in milliseconds since 1970. */
  readonly at: number
  /** The rule of an event that recurs, in words. */
  readonly rule?: string
  /** The data as JSON text. `cut` is the number of characters that were left out. */
  readonly data: string
  readonly cut: number
}

/** A group of handlers that share durable events, combined over all its processes. */
export interface GroupView {
  /** The name of the transport that stores the group's events. */
  readonly engine: string
  readonly group: string
  /** A service of the group; its client is used to reach the engine. */
  readonly service: string
  readonly processes: number
  /** How many of the processes do not answer. */
  readonly notReached: number
  readonly handlers: readonly GroupHandler[]
  /**
   * The number of dead letters; above 100 it means more than 100. Missing if the number is not known yet, or cannot
   * be read.
   */
  readonly dead?: number
  /** The reason why the number of dead letters is unknown. */
  readonly deadUnknown?: string
}

/** One pattern of a group. */
export interface GroupHandler {
  readonly pattern: string
  /** Events that are stored and have not been handled; missing if the number is unknown. */
  readonly waits?: number
  /** Events that are being handled at the moment; missing if nothing counts them. */
  readonly runs?: number
  /** Deliveries that were not the first ones, since the processes began. */
  readonly triedAgain: number
  /** Events that became dead letters, since the processes began. */
  readonly died: number
  readonly isPaused: boolean
  /** The reason why the handler gets no events at the moment; missing if it does. */
  readonly unavailable?: string
}

/** An outbox, and the service whose process runs its relay. */
export interface OutboxOf extends OutboxView {
  readonly service: string
  /** The process does not answer, so its figures are old. */
  readonly isSilent?: true
}

/** Dead letters of a group, the oldest first. */
export interface DeadLettersView {
  readonly letters: readonly DeadLetterView[]
  readonly hasMore: boolean
}

/** An event whose handlers have failed for good. */
export interface DeadLetterView {
  readonly position: string
  readonly pattern: string
  readonly id: string
  readonly key?: string
  readonly reason: string
  readonly attempts: number
  /** The data as JSON text. `cut` is the number of characters that were left out. */
  readonly data: string
  readonly cut: number
  readonly traceId?: string
  /** Milliseconds since 1970. */
  readonly publishedAt: number
  readonly diedAt: number
  /** The parts that the engine could not store, because it had no room for them. */
  readonly leftOut: readonly string[]
}

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

/** Current and past problems. */
export interface AlertsView {
  readonly alerts: readonly AlertView[]
  /** Past problems, the latest first. */
  readonly past: readonly PastAlertView[]
}

/** A current problem. */
export interface AlertView {
  /** Identifies the problem. */
  readonly key: string
  readonly kind: 'silent' | 'engine' | 'lag' | 'dead' | 'errors' | 'outbox'
  /** The problem in a few words. */
  readonly title: string
  /** Details of the problem. */
  readonly detail: string
  /** Advice on what to do. */
  readonly advice: string
  /** Milliseconds since 1970. */
  readonly since: number
  /** The screen and path that show more about the problem. */
  readonly place: readonly string[]
}

/** A past problem. */
export interface PastAlertView extends AlertView {
  readonly until: number
}

/** The traces that are kept. */
/**
 * The part of the trace collector's content that is sent to every page. Other parts are requested with a
 * `TraceQuestion`.
 */
export interface TracesView {
  /** The number of traces that are kept, and of those that were dropped to make room. */
  readonly kept: number
  readonly dropped: number
  /** The latest traces, the newest first. */
  readonly latest: readonly TraceLine[]
  /** The messages between services, and to engines, that recent spans show. */
  readonly links: readonly Link[]
}

/** One trace in a list. */
export interface TraceLine {
  readonly id: string
  /** The name of its first span, which usually is a pattern. */
  readonly name: string
  readonly service: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** Milliseconds from the start of the first span to the end of the last one. */
  readonly duration: number
  readonly spans: number
  readonly errors: number
  /** The services with spans in this trace. */
  readonly services: readonly string[]
}

/** Messages of one pattern from one service to another, or between a service and an engine. */
export interface Link {
  /** The sender; missing if the engine delivers the messages. */
  readonly from?: string
  /** The receiver; missing if the messages go to the engine. */
  readonly to?: string
  readonly kind: Kind
  /** The transport that carries the messages. */
  readonly transport: string
  readonly pattern: string
  readonly rate: number
  readonly errors: number
  readonly ms: number
}

/** A page's request to the trace collector. */
export type TraceQuestion =
  | {
      /** The text to find in ids, patterns, services, errors and attributes; empty for all traces. */
      readonly text: string
      readonly onlyErrors: boolean
      /** The shortest duration of a trace in milliseconds. */
      readonly longerThan: number
    }
  | { readonly trace: string }

/** One trace with its spans. */
export interface TraceView {
  readonly id: string
  readonly spans: readonly SpanView[]
  /** The number of spans that were dropped because there was no room. */
  readonly leftOut: number
}

/** One span. */
export interface SpanView {
  readonly id: string
  /** The id of the parent span; empty for the first span, or if the parent has not arrived. */
  readonly parent: string
  readonly name: string
  readonly service: string
  readonly kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer'
  /** The start in milliseconds since 1970, with fractions. */
  readonly start: number
  /** The duration in milliseconds. */
  readonly duration: number
  /** The error; missing if the span has not failed. */
  readonly error?: string
  readonly attributes: readonly (readonly [name: string, value: string])[]
  /** Log lines and events of the span. */
  readonly logs: readonly LogLine[]
}

/** A log line, or an event of a span. */
export interface LogLine {
  /** Milliseconds since 1970, with fractions. */
  readonly at: number
  readonly level: string
  readonly text: string
}

/** An item in the stream of updates. */
export type Update =
  | { readonly overview: Overview }
  | { readonly sample: Sample }
  | { readonly topics: Partial<Topics> }

/** The handlers that the server has for the page. */
export type ConsoleService = {
  /** @param look the id of the service whose details are sent; all others are summarised */
  updates(look?: { readonly service?: string | undefined }): AsyncIterable<Update>
  /** Calls a pattern. The stream ends when the answer ends. */
  try(trial: Trial): AsyncIterable<TrialUpdate>
} & {
  /** Answers to requests of a single page. */
  [Topic in keyof Topics as `ask.${Topic}`]: (question: unknown) => unknown
}

/** A message that the page asks the server to send. */
export interface Trial {
  readonly service: string
  readonly kind: Kind
  readonly pattern: string
  /** The data; missing for a message without data. */
  readonly data?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A value of the answer, or the error of the call. */
export type TrialUpdate =
  /** `cut` is the number of characters that were left out. */
  { readonly value: string; readonly cut: number } | { readonly error: TrialError }

/** The error of a call. */
export interface TrialError {
  readonly code: string
  readonly message: string
  /** The details as JSON text. */
  readonly details?: string
}
