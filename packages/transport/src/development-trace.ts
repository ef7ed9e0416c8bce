/**
 * Makes spans of messages without any set-up while the development command runs this process. The command loads a
 * tracer into the process, and this file uses that tracer. Without the command there is no tracer, and no middleware is
 * added.
 */

import type { MessageHeaders } from './headers.ts'
import type {
  Middleware,
  MiddlewareMessage,
  ReceivedMessage,
  SentMessage,
  WatchedClient
} from './middleware.ts'
import { isStream, isThenable } from './stream.ts'
import { tap } from './tap.ts'

/** The end at which a message is traced: of a request (`server`, `client`) or of an event (`consumer`, `producer`). */
export type TracedSide = 'server' | 'client' | 'consumer' | 'producer'

/** The fields of a message that the tracer gets. */
export interface TracedMessage {
  readonly side: TracedSide
  readonly transport: string
  readonly pattern: string
  readonly headers: MessageHeaders
  /** Whether `telemetry()` wraps the message as well: if the user has set up an SDK, `telemetry()` makes the spans. */
  readonly isObserved: boolean
}

/** A span that has begun. */
export interface DevelopmentSpan {
  /** The message's headers, with this span as the parent of later spans. */
  readonly headers: MessageHeaders
  /** Calls a function within the span. */
  run<Result>(work: () => Result): Result
  /**
   * Ends the span, because the message has ended.
   * @param error the error of the message, if the message failed
   * @param endpoint `host:port` of the server to which the message went, if it is known
   */
  end(error?: unknown, endpoint?: string): void
}

/** The tracer that the development command loads into the process. */
export interface DevelopmentTracer {
  /** Begins a span. `undefined` means that the user's own tracing makes the span of this message. */
  begin(message: TracedMessage): DevelopmentSpan | undefined
  /** Adds the current span to the headers of a message that another process sends later. */
  headers(headers: MessageHeaders | undefined): MessageHeaders | undefined
}

/** The symbol under which the process stores the tracer. */
export const TRACER: unique symbol = Symbol.for('elysia-microservices.tracer')

/** The tracer, if the development command has started this process. */
export function developmentTracer(): DevelopmentTracer | undefined {
  return (globalThis as { [TRACER]?: DevelopmentTracer })[TRACER]
}

/** The middleware of all messages that a service receives: the tracer first, then the middleware of the service. */
export function tracedReceived(own: readonly Middleware<ReceivedMessage>[]): Middleware<ReceivedMessage>[] {
  const tracer = developmentTracer()
  if (tracer === undefined) return [...own]
  const isObserved = own.some(({ figures }) => figures !== undefined)
  const middleware: Middleware<ReceivedMessage> = (next) => (message) => {
    const side = message.kind === 'event' ? 'consumer' : 'server'
    const span = tracer.begin(told(side, message, isObserved))
    return span === undefined ? next(message) : within(span, () => next(message))
  }
  return [middleware, ...own]
}

/**
 * The middleware of all calls of a client: first the middleware of the client, then the tracer, which reads the headers that
 * those middleware have set.
 */
export function tracedSent(
  own: readonly Middleware<SentMessage>[],
  client?: WatchedClient
): Middleware<SentMessage>[] {
  const tracer = developmentTracer()
  if (tracer === undefined) return [...own]
  const isObserved = own.some(({ figures }) => figures !== undefined)
  const middleware: Middleware<SentMessage> = (next) => (call) => {
    const side = call.kind === 'event' ? 'producer' : 'client'
    const span = tracer.begin(told(side, call, isObserved))
    return span === undefined
      ? next(call)
      : within(span, () => next(call.withHeaders(span.headers)), endpoint)
  }
  const endpoint = client && onlyEndpoint(client)
  return [...own, Object.assign(middleware, { ignoresValues: true })]
}

function told(
  side: TracedSide,
  { transport, pattern, headers }: MiddlewareMessage,
  isObserved: boolean
): TracedMessage {
  return { side, transport, pattern, headers, isObserved }
}

/**
 * The server of a client as long as it has only one: of several, a client picks one for each call, after its middleware.
 */
function onlyEndpoint(client: WatchedClient): () => string | undefined {
  const known = new Set<string>()
  client.onStatus((event) => {
    if (event.type === 'endpoints') {
      known.clear()
      for (const one of event.endpoints) known.add(one)
    } else if (event.type === 'connected' || event.type === 'connect-failed') known.add(event.endpoint)
  })
  return () => (known.size === 1 ? [...known][0] : undefined)
}

function within(span: DevelopmentSpan, work: () => unknown, endpoint?: () => string | undefined): unknown {
  try {
    const result = span.run(work)
    if (typeof result === 'object' && result !== null && (isThenable(result) || isStream(result)))
      return tap(result, {
        run: (step) => span.run(step),
        ended: (how) => span.end(how.outcome === 'failed' ? how.error : undefined, endpoint?.())
      })
    span.end(undefined, endpoint?.())
    return result
  } catch (error) {
    span.end(error, endpoint?.())
    throw error
  }
}
