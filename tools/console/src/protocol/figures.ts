/** The figures of services. */
import type { Kind } from './services.ts'

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
  /** The engine to which its events are published; missing if the relay does not tell. */
  readonly engine?: string
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
