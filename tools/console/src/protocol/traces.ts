/** The traces that the page's server has collected. */
import type { Kind } from './services.ts'

/**
 * The part of the trace collector's content that is sent to every page. Other parts are requested with a
 * `TraceQuestion`.
 */
export interface TracesView {
  /** The number of kept traces. */
  readonly kept: number
  /** The number of traces that were dropped to make room. */
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
  /** The receiver; missing if the messages go to the engine, or to somebody who sends no spans (see `unheard`). */
  readonly to?: string
  /** Only the sender's spans have arrived: the receiver sends none, or was not reached. */
  readonly unheard?: Unheard
  readonly kind: Kind
  /** The transport that carries the messages. */
  readonly transport: string
  readonly pattern: string
  readonly rate: number
  readonly errors: number
  readonly ms: number
}

/** The facts about a receiver that only the sender of its messages has told. */
export interface Unheard {
  /** The program of the page that listens at the receiver's address, or the address, if the spans have it. */
  readonly name?: string
  /** The latest reason why the receiver was not reached; missing if it was reached. */
  readonly problem?: string
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
