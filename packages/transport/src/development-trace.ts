/**
 * Spans of messages while the development command runs this process, without any set-up: it loads a tracer into the
 * process, which this file asks. Elsewhere there is none, and nothing stands around messages.
 */
import type { Around, AroundMessage, ReceivedMessage, SentMessage } from './around.ts'
import type { Headers } from './headers.ts'
import { isStream, isThenable } from './stream.ts'
import { tap } from './tap.ts'

/** The end at which a message is traced: of a request (`server`, `client`) or an event (`consumer`, `producer`). */
export type TracedSide = 'server' | 'client' | 'consumer' | 'producer'

/** A message, as the tracer sees it. */
export interface TracedMessage {
  readonly side: TracedSide
  readonly transport: string
  readonly pattern: string
  readonly headers: Headers
  /** Whether `telemetry()` stands around it, too: with an SDK of the user's it makes the spans. */
  readonly isObserved: boolean
}

/** A span that has begun. */
export interface DevelopmentSpan {
  /** The message's headers with this span as the parent of what comes. */
  readonly headers: Headers
  /** Calls a function within the span. */
  run<Result>(work: () => Result): Result
  /** The message has ended. @param error how it failed, if it did */
  end(error?: unknown): void
}

/** The tracer that the development command puts into the process. */
export interface DevelopmentTracer {
  /** Begins a span; `undefined`: it leaves this message to the user's own tracing. */
  begin(message: TracedMessage): DevelopmentSpan | undefined
  /** Headers with the current span, for a message that is sent later by somebody else. */
  headers(headers: Headers | undefined): Headers | undefined
}

/** The name of the tracer in the process. */
export const TRACER: unique symbol = Symbol.for('elysia-microservices.tracer')

/** The tracer, if the development command has started this process. */
export function developmentTracer(): DevelopmentTracer | undefined {
  return (globalThis as { [TRACER]?: DevelopmentTracer })[TRACER]
}

/** The arounds of all messages that a service receives: the tracer, and inside it the service's own. */
export function tracedReceived(own: readonly Around<ReceivedMessage>[]): Around<ReceivedMessage>[] {
  const tracer = developmentTracer()
  if (tracer === undefined) return [...own]
  const isObserved = own.some(({ figures }) => figures !== undefined)
  const around: Around<ReceivedMessage> = (next) => (message) => {
    const side = message.kind === 'event' ? 'consumer' : 'server'
    const span = tracer.begin(told(side, message, isObserved))
    return span === undefined ? next(message) : within(span, () => next(message))
  }
  return [around, ...own]
}

/**
 * The arounds of all calls of a client: its own, and inside them the tracer, which reads the headers that they have
 * set.
 */
export function tracedSent(own: readonly Around<SentMessage>[]): Around<SentMessage>[] {
  const tracer = developmentTracer()
  if (tracer === undefined) return [...own]
  const isObserved = own.some(({ figures }) => figures !== undefined)
  const around: Around<SentMessage> = (next) => (call) => {
    const side = call.kind === 'event' ? 'producer' : 'client'
    const span = tracer.begin(told(side, call, isObserved))
    return span === undefined ? next(call) : within(span, () => next(call.withHeaders(span.headers)))
  }
  return [...own, Object.assign(around, { ignoresValues: true })]
}

function told(
  side: TracedSide,
  { transport, pattern, headers }: AroundMessage,
  isObserved: boolean
): TracedMessage {
  return { side, transport, pattern, headers, isObserved }
}

function within(span: DevelopmentSpan, work: () => unknown): unknown {
  try {
    const result = span.run(work)
    if (typeof result === 'object' && result !== null && (isThenable(result) || isStream(result)))
      return tap(result, {
        run: (step) => span.run(step),
        ended: (how) => span.end(how.outcome === 'failed' ? how.error : undefined)
      })
    span.end()
    return result
  } catch (error) {
    span.end(error)
    throw error
  }
}
