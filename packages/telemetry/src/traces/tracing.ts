/** Whether anybody wants traces, and the spans of messages if so. Nothing here costs anything without an SDK. */

import type { ClientEvent, Delivery, Headers } from '@elysia-microservices/transport'
import {
  type Context,
  context,
  isSpanContextValid,
  ProxyTracerProvider,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  type Tracer,
  trace
} from '@opentelemetry/api'
import { MAX_PATTERNS, type Side } from '../figures/figures.ts'
import type { Outcome } from '../outcome.ts'
import { ATTEMPT, ERROR_TYPE, MESSAGING, type Naming, namingOf, RPC, SCOPE, SYSTEM } from './attributes.ts'

/** The tracer of the SDK; `undefined` while none is registered. */
export function tracer(): Tracer | undefined {
  const provider = trace.getTracerProvider()
  // The provider of the API stands for one that is registered later: what it gives until then does nothing.
  if (provider instanceof ProxyTracerProvider) return provider.getDelegateTracer(SCOPE)
  return provider.getTracer(SCOPE)
}

/** Characters kept of a pattern that nobody handles. */
const MAX_ORIGINAL = 256

/** Names of spans by side, transport and pattern; bounded, because callers choose patterns. */
const namings = new Map<string, Naming>()

function known(side: Side, transport: string, pattern: string): Naming {
  const key = `${side} ${transport} ${pattern}`
  let naming = namings.get(key)
  if (naming === undefined) {
    naming = namingOf(side, transport, pattern)
    if (namings.size < MAX_PATTERNS) namings.set(key, naming)
  }
  return naming
}

/** What carries a trace from one end to the other. */
interface Carrier {
  readonly transport: string
  readonly pattern: string
  readonly headers: Headers
}

/** A client makes a call again. */
type Retry = Extract<ClientEvent, { readonly type: 'retry' }>

/** A span and the context that it is the current one of. */
export interface Traced {
  readonly span: Span
  readonly context: Context
}

/** Begins the span of a received message, in the trace that its headers tell of. */
export function startReceived(
  tracer: Tracer,
  side: 'server' | 'consumer',
  message: Carrier & { readonly delivery?: Delivery | undefined }
): Traced {
  const { name, kind, attributes } = known(side, message.transport, message.pattern)
  // Whatever context the socket's callback has by chance is none of this message's.
  const parent = propagation.extract(ROOT_CONTEXT, message.headers)
  const span = tracer.startSpan(name, { kind, attributes }, parent)
  const { delivery } = message
  if (delivery !== undefined) span.setAttribute(MESSAGING.id, delivery.id)
  return { span, context: trace.setSpan(parent, span) }
}

/**
 * Begins the span of a call. Its parent is the current span; without one, that of the headers the call was given, as a
 * gateway passes them on.
 */
export function startSent(
  tracer: Tracer,
  side: 'client' | 'producer',
  call: Carrier
): Traced & { readonly headers: Headers } {
  const { name, kind, attributes } = known(side, call.transport, call.pattern)
  const current = context.active()
  const active = trace.getSpanContext(current)
  const isInTrace = active !== undefined && isSpanContextValid(active)
  const parent = isInTrace ? current : propagation.extract(current, call.headers)
  const span = tracer.startSpan(name, { kind, attributes }, parent)
  const own = trace.setSpan(parent, span)
  const headers = { ...call.headers }
  propagation.inject(own, headers)
  return { span, context: own, headers }
}

/**
 * Calls a span by the pattern of its handler, which is not what the caller wrote; or by `_OTHER`, if nobody handles that:
 * then it is kept as an attribute, cut at 256 characters.
 */
export function rename(span: Span, side: Side, transport: string, original: string, name: string): void {
  const naming = known(side, transport, name)
  span.updateName(naming.name)
  span.setAttributes(naming.attributes)
  if (side === 'server' || side === 'client') span.setAttribute(RPC.original, original.slice(0, MAX_ORIGINAL))
}

/** Ends a span. */
export function end(span: Span, side: Side, { code, errorType, message, exception }: Outcome): void {
  if (side === 'server' || side === 'client') span.setAttribute(RPC.status, code)
  if (exception !== undefined) span.recordException(exception)
  if (errorType !== undefined) {
    span.setAttribute(ERROR_TYPE, errorType)
    span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) })
  }
  span.end()
}

/** Begins the span of a further attempt of a call: from the failure of the one before to the next, or the end. */
export function startAttempt(
  tracer: Tracer,
  { context: parent }: Traced,
  { attempt, endpoint, delay, error }: Retry
): Span {
  const attributes = {
    [ATTEMPT]: attempt + 1,
    [`${SYSTEM}.delay_ms`]: delay,
    [`${SYSTEM}.failed_endpoint`]: endpoint,
    [`${SYSTEM}.failure`]: Object(error).code as string
  }
  return tracer.startSpan(`attempt ${attempt + 1}`, { attributes }, parent)
}
