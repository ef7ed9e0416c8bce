/**
 * Finds the messages between services in spans. This adds events, and services that do not count their own
 * messages, such as Nest's.
 */
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

interface Message extends Omit<Link, 'rate' | 'errors'> {
  readonly at: number
  readonly hasFailed: boolean
}

/** Counts the messages of the last seconds. */
export class Links {
  #messages: Message[] = []

  get isEmpty(): boolean {
    return this.#messages.length === 0
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
    if (parent !== undefined) this.#join(parent, span)
    if (span.kind !== 'client' && span.kind !== 'producer') return
    for (const child of spans?.values() ?? []) if (child.parent === span.id) this.#join(span, child)
  }

  /** Messages a second, by sender, receiver and pattern. */
  lately(): readonly Link[] {
    const since = Date.now() - LATELY
    this.#messages = this.#messages.filter(({ at }) => at > since)
    const kinds = new Map<string, { count: number; errors: number; ms: number; first: Message }>()
    for (const each of this.#messages) {
      const key = JSON.stringify([each.from, each.to, each.kind, each.transport, each.pattern])
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

  #join(sent: SpanView, received: SpanView): void {
    const isMessage =
      (sent.kind === 'client' && received.kind === 'server') ||
      (sent.kind === 'producer' && received.kind === 'consumer')
    if (isMessage && sent.service !== received.service)
      this.#count(received, attributeOf(received, 'network.transport') ?? '', {
        from: sent.service,
        to: received.service
      })
  }

  #count(span: SpanView, transport: string, ends: Pick<Link, 'from' | 'to'>): void {
    if (this.#messages.length >= MAX_MESSAGES) this.#messages.shift()
    const isEvent = span.kind === 'producer' || span.kind === 'consumer'
    this.#messages.push({
      ...ends,
      at: Date.now(),
      kind: isEvent ? 'event' : 'message',
      transport,
      pattern: attributeOf(span, isEvent ? 'messaging.destination.name' : 'rpc.method') ?? span.name,
      hasFailed: span.error !== undefined,
      ms: span.duration
    })
  }
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
