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
  TraceFlags,
  type Tracer,
  type TracerProvider,
  trace
} from '@opentelemetry/api'
import { MAX_PATTERNS, type Side } from '../figures/figures.ts'
import type { Outcome } from '../outcome.ts'
import { ATTEMPT, ERROR_TYPE, MESSAGING, type Naming, namingOf, RPC, SCOPE, SYSTEM } from './attributes.ts'
import { withSpan } from './context-of-span.ts'

/** The tracer that was given last, and the provider that gave it: providers look theirs up by name each time. */
let last: { readonly provider: TracerProvider; readonly tracer: Tracer } | undefined

/** The tracer of the SDK; `undefined` while none is registered. */
export function tracer(): Tracer | undefined {
  const given = trace.getTracerProvider()
  // The provider of the API stands for one that is registered later: what it gives until then does nothing.
  const isStandIn = given instanceof ProxyTracerProvider
  const provider = isStandIn ? given.getDelegate() : given
  if (last?.provider === provider) return last.tracer
  const tracer = isStandIn ? given.getDelegateTracer(SCOPE) : given.getTracer(SCOPE)
  if (tracer !== undefined) last = { provider, tracer }
  return tracer
}

/** Characters kept of a pattern that nobody handles. */
const MAX_ORIGINAL = 256

/** Names of spans by side and transport, then by pattern; bounded, because callers choose patterns. */
const namings: Readonly<Record<Side, Map<string, Map<string, Naming>>>> = {
  server: new Map(),
  client: new Map(),
  consumer: new Map(),
  producer: new Map()
}

function known(side: Side, transport: string, pattern: string): Naming {
  let ofTransport = namings[side].get(transport)
  if (ofTransport === undefined) {
    ofTransport = new Map()
    namings[side].set(transport, ofTransport)
  }
  let naming = ofTransport.get(pattern)
  if (naming === undefined) {
    naming = namingOf(side, transport, pattern)
    if (ofTransport.size < MAX_PATTERNS) ofTransport.set(pattern, naming)
  }
  return naming
}

/** A call or message whose headers carry the trace. */
interface Carrier {
  readonly transport: string
  readonly pattern: string
  readonly headers: Headers
}

/** A client retries a call. */
type Retry = Extract<ClientEvent, { readonly type: 'retry' }>

/** A span and the context that it is the current one of. */
export interface Traced {
  readonly span: Span
  readonly context: Context
  /** Whether anybody records the span; else only the trace goes on. */
  readonly isRecorded: boolean
}

/** The span of all traces that nobody records from their beginning on: cheap, and children learn of the decision. */
const UNRECORDED_SPAN = trace.wrapSpanContext({
  traceId: crypto.randomUUID().replaceAll('-', ''),
  spanId: crypto.randomUUID().replaceAll('-', '').slice(0, 16),
  traceFlags: TraceFlags.NONE
})
const UNRECORDED: Traced = {
  span: UNRECORDED_SPAN,
  context: withSpan(ROOT_CONTEXT, UNRECORDED_SPAN),
  isRecorded: false
}

/** Whether there is an SDK. Which one matters only to messages that are recorded, so only these look it up. */
const isTraced = () => last !== undefined || tracer() !== undefined

/** A trace that would begin here, and that the SDK is not asked about; `undefined` if it is. */
function unrecorded(parent: Context, sample: number): Traced | undefined {
  if (sample >= 1 || Math.random() < sample) return undefined
  if (parent === ROOT_CONTEXT) return UNRECORDED
  if (trace.getSpanContext(parent) !== undefined) return undefined
  return { ...UNRECORDED, context: withSpan(parent, UNRECORDED_SPAN) }
}

/**
 * Begins the span of a received message, in the trace that its headers tell of. `undefined`: there is no SDK.
 * @param sample the share of new traces that the SDK is asked about
 */
export function startReceived(
  side: 'server' | 'consumer',
  message: Carrier & { readonly delivery?: Delivery | undefined },
  sample = 1
): Traced | undefined {
  if (!isTraced()) return undefined
  // Whatever context the socket's callback has by chance is none of this message's.
  const parent = extracted(ROOT_CONTEXT, message.headers)
  const ignored = unrecorded(parent, sample)
  if (ignored !== undefined) return ignored
  const traced = startedIn(parent, known(side, message.transport, message.pattern))
  if (message.delivery !== undefined) traced?.span.setAttribute(MESSAGING.id, message.delivery.id)
  return traced
}

/**
 * Begins the span of a call. Its parent is the current span; without one, that of the headers the call was given, as a
 * gateway passes them on. `undefined`: there is no SDK.
 */
export function startSent(
  side: 'client' | 'producer',
  call: Carrier,
  sample = 1
): (Traced & { readonly headers: Headers }) | undefined {
  if (!isTraced()) return undefined
  const current = context.active()
  const active = trace.getSpanContext(current)
  const isInTrace = active !== undefined && isSpanContextValid(active)
  const parent = isInTrace ? current : extracted(current, call.headers)
  const traced = unrecorded(parent, sample) ?? startedIn(parent, known(side, call.transport, call.pattern))
  if (traced === undefined) return undefined
  const headers = { ...call.headers }
  propagation.inject(traced.context, headers)
  return { ...traced, headers }
}

/** Headers with the current trace, for a message that is sent later; the same headers if there is none. */
export function withTraceOf(headers: Headers | undefined): Headers | undefined {
  const current = context.active()
  const active = trace.getSpanContext(current)
  if (active === undefined || !isSpanContextValid(active)) return headers
  const carrier = { ...headers }
  propagation.inject(current, carrier)
  return carrier
}

/** The context with what headers tell. A propagator takes as long to find nothing as everything counted of a message. */
function extracted(context: Context, headers: Headers): Context {
  for (const _ in headers) return propagation.extract(context, headers)
  return context
}

function startedIn(parent: Context, { name, kind, attributes }: Naming): Traced | undefined {
  const span = tracer()?.startSpan(name, { kind, attributes }, parent)
  return span && { span, context: withSpan(parent, span), isRecorded: span.isRecording() }
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
