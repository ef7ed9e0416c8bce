/** The last traces, for their screen and for the map: what OpenTelemetry's exporters send is taken here. */
import { fieldsOf } from '../bounds.ts'
import type { SentEvents, TraceLine, TracesView, TraceView } from '../protocol.ts'
import { type ReceivedSpan, readLines, readSpans } from '../traces/otlp.ts'
import { readSearch, TraceStore } from '../traces/store.ts'
import type { Source } from './source.ts'

/** Traces that every page is told of. */
const MAX_LATEST = 30
/** Milliseconds between two times that pages are told. */
const PAUSE = 500
/** Milliseconds over which events are counted, and how many events. */
const LATELY = 10_000
const MAX_SENT = 5_000
/** Kinds of events that are told. */
const MAX_KINDS = 200
/** Events that go straight to their handlers. */
const DIRECT = 'elysia_microservices'

interface Sent {
  readonly at: number
  readonly service: string
  readonly system: string
  readonly pattern: string
  readonly hasFailed: boolean
  readonly ms: number
}

export class Traces implements Source<'traces'> {
  readonly topic = 'traces'
  readonly #store = new TraceStore()
  #sent: Sent[] = []
  #tell: (() => void) | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  begin(tell: () => void): void {
    this.#tell = tell
  }

  rest(): void {
    this.#tell = undefined
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** Time passes for what was sent lately. */
  sampled(): void {
    if (this.#sent.length > 0) this.#changed()
  }

  latest(): TracesView {
    const latest = this.#store.find({ text: '', onlyErrors: false, longerThan: 0 }).slice(0, MAX_LATEST)
    return { kept: this.#store.size, dropped: this.#store.dropped, latest, sent: this.#sentLately() }
  }

  ask(question: unknown): TraceView | null | readonly TraceLine[] {
    const fields = fieldsOf(question)
    const { trace } = fields
    if (typeof trace === 'string') return this.#store.get(trace) ?? null
    return this.#store.find(readSearch(fields))
  }

  /**
   * Takes a body of OTLP. Metrics are taken and thrown away, so that an exporter of all three has nothing to complain of.
   * @param signal what the last part of the path says
   */
  receive(signal: 'traces' | 'logs' | 'metrics', body: unknown): void {
    if (signal === 'metrics') return
    if (signal === 'logs') for (const line of readLines(body)) this.#store.addLine(line)
    else
      for (const span of readSpans(body)) {
        this.#store.add(span)
        if (span.kind === 'producer') this.#count(span)
      }
    this.#changed()
  }

  #count({ service, attributes, error, duration }: ReceivedSpan): void {
    const of = (name: string) => attributes.find(([key]) => key === name)?.[1]
    const system = of('messaging.system.name') ?? of('messaging.system')
    const pattern = of('messaging.destination.name')
    if (system === undefined || system === DIRECT || pattern === undefined) return
    if (this.#sent.length >= MAX_SENT) this.#sent.shift()
    this.#sent.push({
      at: Date.now(),
      service,
      system,
      pattern,
      hasFailed: error !== undefined,
      ms: duration
    })
  }

  #sentLately(): SentEvents[] {
    const since = Date.now() - LATELY
    this.#sent = this.#sent.filter(({ at }) => at > since)
    const kinds = new Map<string, { count: number; errors: number; ms: number; first: Sent }>()
    for (const each of this.#sent) {
      const key = JSON.stringify([each.service, each.system, each.pattern])
      const kind = kinds.get(key) ?? { count: 0, errors: 0, ms: 0, first: each }
      kind.count++
      if (each.hasFailed) kind.errors++
      kind.ms += each.ms
      if (kinds.size < MAX_KINDS) kinds.set(key, kind)
    }
    return [...kinds.values()].map(({ count, errors, ms, first: { service, system, pattern } }) => ({
      service,
      system,
      pattern,
      rate: (count * 1_000) / LATELY,
      errors: (errors * 1_000) / LATELY,
      ms: ms / count
    }))
  }

  #changed(): void {
    if (this.#tell === undefined) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#tell?.()
    }, PAUSE)
  }
}
