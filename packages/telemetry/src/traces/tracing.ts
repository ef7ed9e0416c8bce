/** Decides whether a message is traced, and makes its span. Without an SDK this costs nothing. */

import type { ConnectionEvent, Delivery, MessageHeaders } from '@elysia-microservices/transport'
import { readableHeaders } from '@elysia-microservices/transport/kit'
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
import {
  ATTEMPT,
  ERROR_TYPE,
  MESSAGING,
  type Naming,
  namingOf,
  RPC,
  SCOPE,
  SYSTEM,
  systemOf
} from './attributes.ts'
import { withSpan } from './context-of-span.ts'
import { statusOf } from './status.ts'

/** The last tracer and its provider, kept because providers look up tracers by name each time. */
let last: { readonly provider: TracerProvider; readonly tracer: Tracer } | undefined

/** The tracer of the registered SDK; `undefined` while no SDK is registered. */
export function tracer(): Tracer | undefined {
  const given = trace.getTracerProvider()
  // The API's own provider is a proxy for an SDK that may be registered later. Until then its tracers do nothing.
  const isStandIn = given instanceof ProxyTracerProvider
  const provider = isStandIn ? given.getDelegate() : given
  if (last?.provider === provider) return last.tracer
  const tracer = isStandIn ? given.getDelegateTracer(SCOPE) : given.getTracer(SCOPE)
  if (tracer !== undefined) last = { provider, tracer }
  return tracer
}

/** How many characters are kept of a pattern that has no handler. */
const MAX_ORIGINAL = 256

/**
 * The names of spans by side, transport and pattern. The number of patterns is limited, because callers choose
 * patterns.
 */
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
  readonly headers: MessageHeaders
}

/** The event of a client that retries a call. */
type Retry = Extract<ConnectionEvent, { readonly type: 'retry' }>

/** A span, and the context in which it is the current one. */
export interface Traced {
  readonly span: Span
  readonly context: Context
  /** Whether the span is recorded. If not, the trace is only passed on. */
  readonly isRecorded: boolean
}

/**
 * One span shared by all traces that are not recorded from their beginning. It costs little, and tells the services
 * that are called not to record either.
 */
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

/**
 * Whether there is an SDK. Which SDK it is matters only for messages that are recorded, so the tracer is looked up
 * only for these.
 */
const isTraced = () => last !== undefined || tracer() !== undefined

/**
 * Decides, without asking the SDK, that a new trace is not recorded. Returns `undefined` if the SDK has to be
 * asked.
 */
function unrecorded(parent: Context, sample: number): Traced | undefined {
  if (sample >= 1 || Math.random() < sample) return undefined
  if (parent === ROOT_CONTEXT) return UNRECORDED
  if (trace.getSpanContext(parent) !== undefined) return undefined
  return { ...UNRECORDED, context: withSpan(parent, UNRECORDED_SPAN) }
}

/**
 * Starts the span of a received message, in the trace that its headers name. `undefined` if there is no SDK.
 * @param sample the share of new traces for which the SDK is asked
 */
export function startReceived(
  side: 'server' | 'consumer',
  message: Carrier & { readonly delivery?: Delivery | undefined },
  sample = 1
): Traced | undefined {
  if (!isTraced()) return undefined
  // The current context is not used: it belongs to the callback of the socket, not to this message.
  const parent = extracted(ROOT_CONTEXT, readableHeaders(message) ?? {})
  const ignored = unrecorded(parent, sample)
  if (ignored !== undefined) return ignored
  const traced = startedIn(parent, known(side, message.transport, message.pattern))
  if (message.delivery !== undefined) traced?.span.setAttribute(MESSAGING.id, message.delivery.id)
  return traced
}

/**
 * Starts the span of a call. Its parent is the current span or, if there is none, the span in the call's headers,
 * which a gateway passes on. `undefined` if there is no SDK.
 */
export function startSent(
  side: 'client' | 'producer',
  call: Carrier,
  sample = 1
): (Traced & { readonly headers: MessageHeaders }) | undefined {
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

/**
 * Adds the current trace to headers, for a message that is sent later. Returns the same headers if there is no
 * current trace.
 */
export function withTraceOf(headers: MessageHeaders | undefined): MessageHeaders | undefined {
  const current = context.active()
  const active = trace.getSpanContext(current)
  if (active === undefined || !isSpanContextValid(active)) return headers
  const carrier = { ...headers }
  propagation.inject(current, carrier)
  return carrier
}

/**
 * Reads the trace from headers into a context. Without headers the propagator is not called, because even then it
 * would take as long as all counting of a message.
 */
function extracted(context: Context, headers: MessageHeaders): Context {
  for (const _ in headers) return propagation.extract(context, headers)
  return context
}

function startedIn(parent: Context, { name, kind, attributes }: Naming): Traced | undefined {
  const span = tracer()?.startSpan(name, { kind, attributes }, parent)
  return span && { span, context: withSpan(parent, span), isRecorded: span.isRecording() }
}

/**
 * Renames a span to the pattern of its handler, which may differ from the pattern that the caller has written. If
 * the pattern has no handler, the span is named `_OTHER`, and the caller's pattern becomes an attribute of at most
 * 256 characters.
 */
export function rename(span: Span, side: Side, transport: string, original: string, name: string): void {
  const naming = known(side, transport, name)
  span.updateName(naming.name)
  span.setAttributes(naming.attributes)
  if (side === 'server' || side === 'client') span.setAttribute(RPC.original, original.slice(0, MAX_ORIGINAL))
}

/** Ends a span. */
export function end(
  span: Span,
  side: Side,
  transport: string,
  { code, errorType, message, exception }: Outcome
): void {
  if (side === 'server' || side === 'client')
    span.setAttribute(RPC.status, statusOf(systemOf(side, transport), code))
  if (exception !== undefined) span.recordException(exception)
  if (errorType !== undefined) {
    span.setAttribute(ERROR_TYPE, errorType)
    span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) })
  }
  span.end()
}

/**
 * Starts the span of a further attempt of a call. The attempt lasts from the failure of the previous attempt to the
 * next failure or the end.
 */
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
