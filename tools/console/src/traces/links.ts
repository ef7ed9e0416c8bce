/**
 * Finds the messages between services in spans. This adds events, and services that do not count their own
 * messages, such as Nest's.
 */
import { isEngine } from '../engines.ts'
import type { Link, SpanView } from '../protocol.ts'
import type { ReceivedSpan } from './otlp.ts'
import type { TraceStore } from './store.ts'

/** Milliseconds over which messages are counted, and the largest number of counted messages. */
const LATELY = 10_000
const MAX_MESSAGES = 10_000
/** Largest number of different links that are sent to pages. */
const MAX_KINDS = 300
/** The name of this library as a messaging system, in which events are sent directly to their handlers. */
const DIRECT = 'elysia_microservices'
/**
 * Milliseconds after which a message whose receiver has sent no span counts as sent to somebody who sends none.
 * OpenTelemetry's exporters collect spans for 5 s.
 */
const PATIENCE = 6_000
/** Largest number of messages whose receivers have sent no span yet. */
const MAX_UNHEARD = 5_000
/** Largest number of receivers that are remembered. */
const MAX_KNOWN = 2_000
/** The type of the errors of calls that have not reached anybody: see `ConnectionError`. */
const UNREACHED = 'CONNECTION'
/** The same over an engine, which nobody has heard: see `PatternNotFoundError.nobody`. */
const NOBODY = 'PATTERN_NOT_FOUND'

/** The attribute with the kind of an error. */
const ERROR = 'error.type'
/** The transports of RPC systems, by the names that the conventions give the systems. */
const OF_SYSTEM: ReadonlyMap<string | undefined, string> = new Map([
  ['grpc', 'grpc'],
  ['connectrpc', 'connect'],
  ['connect_rpc', 'connect']
])

interface Message extends Omit<Link, 'rate' | 'errors'> {
  readonly at: number
  readonly hasFailed: boolean
}

/** The name for what listens at an address. */
export type NameOf = (host: string, port: string | undefined) => string

/** An address as its own name. */
export const addressOf: NameOf = (host, port = '') => (port === '' ? host : `${host}:${port}`)

/** Counts the messages of the last seconds. */
export class Links {
  #messages: Message[] = []
  /** Messages whose receivers have sent no span yet, by trace and span. */
  readonly #unheard = new Map<string, { readonly span: SpanView; readonly at: number }>()
  /** The last receiver of each sender's pattern, so that it is known when it cannot be reached. */
  readonly #receivers = new Map<string, string>()
  readonly #nameOf: NameOf
  readonly #now: () => number

  /** @param nameOf the name for what listens at an address */
  constructor(nameOf: NameOf = addressOf, now: () => number = Date.now) {
    this.#nameOf = nameOf
    this.#now = now
  }

  get isEmpty(): boolean {
    return this.#messages.length === 0 && this.#unheard.size === 0
  }

  /** Takes a span that was added to the store. */
  add(span: ReceivedSpan, store: TraceStore): void {
    const engine = engineOf(span)
    if (engine !== undefined && span.kind === 'producer') this.#count(span, engine, { from: span.service })
    if (engine !== undefined && span.kind === 'consumer') this.#count(span, engine, { to: span.service })
    if (engine !== undefined) return
    const spans = store.spansOf(span.trace)
    // The spans of sender and receiver may arrive in any order.
    const parent = spans?.get(span.parent)
    if (parent !== undefined) this.#join(parent, span, span.trace)
    if (span.kind !== 'client' && span.kind !== 'producer') return
    let isHeard = false
    for (const child of spans?.values() ?? [])
      if (child.parent === span.id && this.#join(span, child, span.trace)) isHeard = true
    if (!isHeard) this.#wait(span)
  }

  /** Waits for the span of the receiver. */
  #wait(span: ReceivedSpan): void {
    // HTTP requests and calls of databases are no messages.
    if (patternIn(span) === undefined) return
    if (attributeOf(span, ERROR) === UNREACHED) {
      this.#countUnheard(span, this.#now())
      return
    }
    const [oldest] = this.#unheard.keys()
    if (oldest !== undefined && this.#unheard.size >= MAX_UNHEARD) this.#unheard.delete(oldest)
    this.#unheard.set(`${span.trace} ${span.id}`, { span, at: this.#now() })
  }

  #countUnheard(span: SpanView, at: number): void {
    const [error, transport] = [attributeOf(span, ERROR), transportOf(span)]
    const isUnheard = error === NOBODY && isEngine(transport)
    const problem =
      error === UNREACHED ? span.error : isUnheard ? `Nobody listens over ${transport}` : undefined
    const [host, port] = [attributeOf(span, 'server.address'), attributeOf(span, 'server.port')]
    const to = this.#receivers.get(receiverKey(span))
    const unheard = {
      ...(host !== undefined && { name: this.#nameOf(host, port) }),
      ...(problem !== undefined && { problem })
    }
    const ends = { from: span.service, ...(to !== undefined && { to }), unheard }
    this.#count(span, transport, ends, at)
  }

  /** Messages a second, by sender, receiver and pattern. */
  lately(): readonly Link[] {
    const now = this.#now()
    for (const [key, { span, at }] of this.#unheard) {
      if (at > now - PATIENCE) break
      this.#unheard.delete(key)
      this.#countUnheard(span, at + PATIENCE)
    }
    const since = now - LATELY
    this.#messages = this.#messages.filter(({ at }) => at > since)
    const kinds = new Map<string, { count: number; errors: number; ms: number; first: Message }>()
    for (const each of this.#messages) {
      const { from, to, unheard } = each
      const how = [unheard?.name, unheard !== undefined, unheard?.problem !== undefined]
      const key = JSON.stringify([from, to, each.kind, each.transport, each.pattern, ...how])
      const kind = kinds.get(key) ?? { count: 0, errors: 0, ms: 0, first: each }
      kind.count++
      if (each.hasFailed) kind.errors++
      kind.ms += each.ms
      if (kinds.has(key) || kinds.size < MAX_KINDS) kinds.set(key, kind)
    }
    return [...kinds.values()].map(({ count, errors, ms, first }) => {
      const { at: _, hasFailed: __, ...link } = first
      const seconds = LATELY / 1_000
      return { ...link, rate: count / seconds, errors: errors / seconds, ms: ms / count }
    })
  }

  /** Counts a message both of whose spans have arrived. @returns whether they are of one message */
  #join(sent: SpanView, received: SpanView, trace: string): boolean {
    const isMessage =
      (sent.kind === 'client' && received.kind === 'server') ||
      (sent.kind === 'producer' && received.kind === 'consumer')
    if (!isMessage) return false
    this.#unheard.delete(`${trace} ${sent.id}`)
    if (sent.service === received.service) return true
    if (this.#receivers.size >= MAX_KNOWN) this.#receivers.clear()
    this.#receivers.set(receiverKey(sent), received.service)
    this.#count(received, transportOf(received), {
      from: sent.service,
      to: received.service
    })
    return true
  }

  #count(
    span: SpanView,
    transport: string,
    ends: Pick<Link, 'from' | 'to' | 'unheard'>,
    at = this.#now()
  ): void {
    if (this.#messages.length >= MAX_MESSAGES) this.#messages.shift()
    const isEvent = span.kind === 'producer' || span.kind === 'consumer'
    this.#messages.push({
      ...ends,
      at,
      kind: isEvent ? 'event' : 'message',
      transport,
      pattern: patternIn(span) ?? span.name,
      hasFailed: span.error !== undefined,
      ms: span.duration
    })
  }
}

/** The transport of a request: what its span says, or that of the RPC system; empty if neither is known. */
function transportOf(span: SpanView): string {
  const system = attributeOf(span, 'rpc.system.name') ?? attributeOf(span, 'rpc.system')
  return attributeOf(span, 'network.transport') ?? OF_SYSTEM.get(system) ?? ''
}

/** The pattern of a message. Older spans of gRPC have its service and its method apart. */
function patternIn(span: SpanView): string | undefined {
  if (span.kind === 'producer' || span.kind === 'consumer')
    return attributeOf(span, 'messaging.destination.name')
  const [service, method] = [attributeOf(span, 'rpc.service'), attributeOf(span, 'rpc.method')]
  return service === undefined || method === undefined ? method : `${service}/${method}`
}

function receiverKey(sent: SpanView): string {
  return JSON.stringify([sent.service, sent.kind, patternIn(sent) ?? sent.name])
}

/** The engine that carries an event; `undefined` if there is none. */
function engineOf(span: SpanView): string | undefined {
  if (span.kind !== 'producer' && span.kind !== 'consumer') return undefined
  const system = attributeOf(span, 'messaging.system.name') ?? attributeOf(span, 'messaging.system')
  return system === DIRECT ? undefined : system
}

function attributeOf({ attributes }: SpanView, name: string): string | undefined {
  return attributes.find(([key]) => key === name)?.[1]
}
