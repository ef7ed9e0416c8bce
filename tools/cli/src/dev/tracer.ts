/**
 * The tracer of processes that `dev` runs. It reads and writes W3C's trace headers, makes spans of messages and
 * HTTP requests, and sends them to the page as OTLP. It finds OpenTelemetry's API only by the symbol under which
 * the API is stored in the process, so it neither loads nor replaces anything. If the program has an SDK of its
 * own, the tracer continues that SDK's spans, and leaves the messages to the SDK that `telemetry()` observes.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { attribute, Exporter } from './exporter.ts'
import { watchHttp } from './watch-http.ts'
import { shown, watchOutput } from './watch-output.ts'

/** The same type as in `development-trace.ts` of `@elysia-microservices/transport`, which this file must not load. */
type Headers = Readonly<Record<string, string>> & { readonly traceparent?: string }
interface Message {
  readonly side: 'server' | 'client' | 'consumer' | 'producer'
  readonly transport: string
  readonly pattern: string
  readonly headers: Headers
  readonly isObserved: boolean
}

interface Place {
  readonly trace: string
  readonly span: string
}

/** The part of OpenTelemetry's API that is used here. */
interface Api {
  readonly trace?: unknown
  readonly context?: {
    active(): Context
    with<Result>(context: Context, work: () => Result): Result
  }
}
interface Context {
  getValue(key: symbol): unknown
  setValue(key: symbol, value: unknown): Context
}

const API = Symbol.for('opentelemetry.js.api.1')
const SPAN = Symbol.for('OpenTelemetry Context Key SPAN')
const KINDS = { server: 2, client: 3, producer: 4, consumer: 5 } as const
const DIRECT = ['tcp', 'memory', 'websocket', 'grpc', 'connect']
const PARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/
const MAX_LINE = 1_000

/** Makes the tracer, and makes it observe HTTP requests and the lines of the console. */
export function newTracer(url: string, service: string) {
  const places = new AsyncLocalStorage<Place | undefined>()
  const exporter = new Exporter(url, service, places)
  const api = () => (globalThis as { [API]?: Api })[API]

  /** The current span: of the program's own SDK, or of this tracer. */
  const current = (): Place | undefined => {
    const own = places.getStore()
    const span = api()?.context?.active().getValue(SPAN) as { spanContext?(): unknown } | undefined
    const { traceId, spanId } = Object(span?.spanContext?.()) as { traceId?: string; spanId?: string }
    if (traceId === undefined || spanId === undefined || /^0*$/.test(traceId)) return own
    return own?.span === spanId ? own : { trace: traceId, span: spanId }
  }

  const begin = (name: string, kind: number, parent: Place | undefined, attributes: object[]) => {
    const place: Place = { trace: parent?.trace ?? hex(16), span: hex(8) }
    const start = now()
    let isOver = false
    return {
      place,
      run<Result>(work: () => Result): Result {
        const context = api()?.context
        if (context === undefined) return places.run(place, work)
        // Spans that the program's own SDK makes inside become children of this span.
        const spanContext = { traceId: place.trace, spanId: place.span, traceFlags: 1 }
        const ours = context.active().setValue(SPAN, notRecorded(spanContext))
        return context.with(ours, () => places.run(place, work))
      },
      end(error?: unknown, more: object[] = []) {
        if (isOver) return
        isOver = true
        const failure = error === undefined ? undefined : messageOf(error)
        exporter.span({
          traceId: place.trace,
          spanId: place.span,
          ...(parent !== undefined && { parentSpanId: parent.span }),
          name,
          kind,
          startTimeUnixNano: start,
          endTimeUnixNano: now(),
          attributes: [...attributes, ...more],
          ...(failure !== undefined && { status: { code: 2, message: failure } })
        })
      }
    }
  }

  watchHttp((method, path, headers) => {
    const name = `${method} ${path}`
    const attributes = [attribute('http.request.method', method), attribute('url.path', path)]
    return begin(name, KINDS.server, placeIn(headers), attributes)
  })
  watchOutput((level, text) => {
    const place = current()
    if (place === undefined) return
    const body = { stringValue: text.slice(0, MAX_LINE) }
    exporter.line({
      traceId: place.trace,
      spanId: place.span,
      timeUnixNano: now(),
      severityText: level,
      body
    })
  })

  return {
    begin({ side, transport, pattern, headers, isObserved }: Message) {
      // Requests for descriptions are not the program's own messages, so they are not traced.
      if (pattern.startsWith('elysia-microservices.')) return undefined
      if (isObserved && api()?.trace !== undefined) return undefined
      const isSent = side === 'client' || side === 'producer'
      const parent = isSent ? (placeIn(headers.traceparent) ?? current()) : placeIn(headers.traceparent)
      const isEvent = side === 'producer' || side === 'consumer'
      const system = DIRECT.includes(transport) ? 'elysia_microservices' : transport
      const span = begin(
        isEvent ? `${side === 'producer' ? 'send' : 'process'} ${pattern}` : pattern,
        KINDS[side],
        parent,
        isEvent
          ? [attribute('messaging.system.name', system), attribute('messaging.destination.name', pattern)]
          : [attribute('rpc.method', pattern), attribute('network.transport', transport)]
      )
      return {
        headers: { ...headers, traceparent: parentOf(span.place) },
        run: span.run,
        end: (error?: unknown, endpoint?: string) =>
          span.end(error, [...errorType(error), ...serverAt(endpoint)])
      }
    },
    headers(headers: Headers | undefined): Headers | undefined {
      const place = current()
      if (place === undefined || headers?.traceparent !== undefined) return headers
      return { ...headers, traceparent: parentOf(place) }
    }
  }
}

function notRecorded(spanContext: object): object {
  const self: Record<string, unknown> = { spanContext: () => spanContext, isRecording: () => false, end() {} }
  const same = () => self
  for (const name of [
    'setAttribute',
    'setAttributes',
    'addEvent',
    'addLink',
    'addLinks',
    'setStatus',
    'updateName',
    'recordException'
  ])
    self[name] = same
  return self
}

function placeIn(header: string | undefined): Place | undefined {
  const [, trace, span] = PARENT.exec(header ?? '') ?? []
  return trace === undefined || span === undefined ? undefined : { trace, span }
}

function parentOf({ trace, span }: Place): string {
  return `00-${trace}-${span}-01`
}

function errorType(error: unknown): object[] {
  if (error === undefined) return []
  const { code, name } = Object(error) as { code?: unknown; name?: unknown }
  return [attribute('error.type', String(code ?? name ?? 'Error').slice(0, 100))]
}

/** The server of a call. @param endpoint `host:port`, or the path of a socket */
function serverAt(endpoint: string | undefined): object[] {
  if (endpoint === undefined) return []
  const [, host = endpoint, port] = /^(.*):(\d+)$/.exec(endpoint) ?? []
  const name = host.replace(/^\[(.*)\]$/, '$1')
  return [attribute('server.address', name), ...(port === undefined ? [] : [attribute('server.port', port)])]
}

function messageOf(error: unknown): string {
  // Nest wraps the error of a handler in an object.
  const answer = error instanceof Error ? error : ((Object(error) as { value?: unknown }).value ?? error)
  const { code, message } = Object(answer) as { code?: unknown; message?: unknown }
  const text = typeof message === 'string' ? message : shown(answer)
  return (typeof code === 'string' ? `${code}: ${text}` : text).slice(0, 500)
}

/** The current time in nanoseconds since 1970, as text. */
function now(): string {
  const [whole = '0', part = ''] = (performance.timeOrigin + performance.now()).toFixed(6).split('.')
  return whole + part.padEnd(6, '0')
}

function hex(bytes: number): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) =>
    byte.toString(16).padStart(2, '0')
  ).join('')
}
