/**
 * Keeps the latest traces in a limited amount of memory. To make room, the oldest traces without errors are dropped
 * first.
 */
import { shortText } from '../bounds.ts'
import type { LogLine, SpanView, TraceLine, TraceView } from '../protocol.ts'
import type { ReceivedLine, ReceivedSpan } from './otlp.ts'

/** The largest numbers of traces, of spans in all traces, of spans in one trace, and of characters in all traces. */
export const MAX_TRACES = 1_000
export const MAX_SPANS = 20_000
export const MAX_SPANS_OF_TRACE = 500
export const MAX_CHARACTERS = 20_000_000
/**
 * Traces with errors are kept longer, because users look for them later: so many of them are dropped only to make
 * room for other traces with errors. Their size is limited, so that they never take more than half of the memory.
 */
export const MAX_FAILED = 200
const MAX_FAILED_SPANS = MAX_SPANS / 2 / MAX_FAILED
const MAX_FAILED_CHARACTERS = MAX_CHARACTERS / 2 / MAX_FAILED
/** Largest number of log lines of a span. */
const MAX_LINES = 50
/** Largest number of log lines whose spans have not arrived: a span is sent only when it has ended. */
const MAX_WAITING_LINES = 2_000
/** Largest number of traces in a list. */
export const MAX_FOUND = 100

interface Stored extends SpanView {
  readonly logs: LogLine[]
}

interface Trace {
  readonly id: string
  readonly spans: Map<string, Stored>
  readonly waiting: Map<string, LogLine[]>
  hasFailed: boolean
  leftOut: number
  characters: number
  /** The line that was last made for a list. */
  line: TraceLine | undefined
}

/** The conditions of a search. */
export interface Search {
  readonly text: string
  readonly onlyErrors: boolean
  /** The shortest duration in milliseconds. */
  readonly longerThan: number
}

/** Keeps traces. */
export class TraceStore {
  /** The traces by id, in the order in which they began. */
  readonly #ordinary = new Map<string, Trace>()
  readonly #failed = new Map<string, Trace>()
  /**
   * Traces of which only log lines have arrived. Most of them stay so, because SDKs also send the log lines of traces
   * that they do not sample.
   */
  readonly #unseen = new Map<string, Trace>()
  #spans = 0
  #characters = 0
  #waiting = 0
  /** The number of traces that were dropped to make room. */
  dropped = 0

  get size(): number {
    return this.#ordinary.size + this.#failed.size
  }

  add(span: ReceivedSpan): void {
    const trace = this.#traceOf(span.trace)
    if (trace.spans.has(span.id)) return
    if (trace.spans.size >= MAX_SPANS_OF_TRACE) {
      trace.leftOut++
      return
    }
    const lines = trace.waiting.get(span.id) ?? []
    trace.waiting.delete(span.id)
    this.#waiting -= lines.length
    const { trace: _, ...view } = span
    trace.spans.set(span.id, { ...view, logs: [...span.logs, ...lines] })
    trace.line = undefined
    trace.hasFailed ||= span.error !== undefined
    this.#grow(trace, sizeOf(span), 1)
  }

  addLine({ trace: id, span: spanId, ...line }: ReceivedLine): void {
    const isWaiting = this.#known(id)?.spans.has(spanId) !== true
    if (isWaiting && this.#waiting >= MAX_WAITING_LINES) {
      const [oldest] = this.#unseen.values()
      if (oldest === undefined) return
      this.#drop(oldest, this.#unseen)
    }
    const trace = this.#traceOf(id)
    const span = trace.spans.get(spanId)
    const lines = span?.logs ?? trace.waiting.get(spanId) ?? []
    if (lines.length >= MAX_LINES) return
    lines.push(line)
    if (span === undefined) {
      trace.waiting.set(spanId, lines)
      this.#waiting++
    }
    this.#grow(trace, line.text.length + 20, 0)
  }

  /** The traces that match a search, the newest first. */
  find(search: Search): readonly TraceLine[] {
    const found = [this.#ordinary, this.#failed].flatMap((traces) => foundIn(traces, search))
    return found.sort((a, b) => b.at - a.at).slice(0, MAX_FOUND)
  }

  /** The spans of a trace by their ids, without a copy. */
  spansOf(id: string): ReadonlyMap<string, SpanView> | undefined {
    return this.#known(id)?.spans
  }

  /**
   * One trace with its spans in the order of their start; `undefined` if the store does not have it, or not any
   * more.
   */
  get(id: string): TraceView | undefined {
    const trace = this.#known(id)
    if (trace === undefined) return undefined
    const spans = [...trace.spans.values()].sort((a, b) => a.start - b.start)
    const told = spans.map((span) => ({ ...span, logs: [...span.logs].sort((a, b) => a.at - b.at) }))
    return { id, spans: told, leftOut: trace.leftOut }
  }

  #known(id: string): Trace | undefined {
    return this.#ordinary.get(id) ?? this.#failed.get(id) ?? this.#unseen.get(id)
  }

  #traceOf(id: string): Trace {
    const known = this.#known(id)
    if (known !== undefined) return known
    const made: Trace = {
      id,
      spans: new Map(),
      waiting: new Map(),
      hasFailed: false,
      leftOut: 0,
      characters: 0,
      line: undefined
    }
    this.#unseen.set(id, made)
    return made
  }

  #grow(trace: Trace, characters: number, spans: number): void {
    trace.characters += characters
    this.#characters += characters
    this.#spans += spans
    this.#place(trace)
    while ((this.#spans > MAX_SPANS || this.#characters > MAX_CHARACTERS) && this.size > 1) this.#dropOldest()
  }

  /** Moves a trace to the group to which it belongs now. */
  #place(trace: Trace): void {
    const { id, hasFailed, spans, characters } = trace
    if (spans.size === 0) return
    const isKept = hasFailed && spans.size <= MAX_FAILED_SPANS && characters <= MAX_FAILED_CHARACTERS
    const to = isKept ? this.#failed : this.#ordinary
    const from = [this.#unseen, this.#ordinary, this.#failed].find(
      (traces) => traces !== to && traces.delete(id)
    )
    if (from === undefined) return
    to.set(id, trace)
    if (this.size > MAX_TRACES) this.#dropOldest()
  }

  #dropOldest(): void {
    const isFull = this.#failed.size > MAX_FAILED || this.#ordinary.size === 0
    const traces = isFull ? this.#failed : this.#ordinary
    const [oldest] = traces.values()
    if (oldest === undefined) return
    this.#drop(oldest, traces)
    this.dropped++
  }

  #drop(trace: Trace, from: Map<string, Trace>): void {
    from.delete(trace.id)
    this.#spans -= trace.spans.size
    this.#characters -= trace.characters
    for (const lines of trace.waiting.values()) this.#waiting -= lines.length
  }
}

/** The newest traces of a group that match a search. */
function foundIn(traces: ReadonlyMap<string, Trace>, { text, onlyErrors, longerThan }: Search): TraceLine[] {
  const found: TraceLine[] = []
  const wanted = text.trim().toLowerCase()
  for (const trace of [...traces.values()].reverse()) {
    if (found.length >= MAX_FOUND) break
    if (trace.spans.size === 0) continue
    const line = lineOf(trace)
    if (onlyErrors && line.errors === 0) continue
    if (line.duration < longerThan) continue
    if (wanted === '' || matches(trace, wanted)) found.push(line)
  }
  return found
}

function lineOf(trace: Trace): TraceLine {
  if (trace.line !== undefined) return trace.line
  const spans = [...trace.spans.values()].sort((a, b) => a.start - b.start)
  const first = spans.reduce((a, b) => (isBefore(b, a, trace) ? b : a))
  const start = Math.min(...spans.map((span) => span.start))
  const end = Math.max(...spans.map((span) => span.start + span.duration))
  trace.line = {
    id: trace.id,
    name: first.name,
    service: first.service,
    at: start,
    duration: end - start,
    spans: spans.length + trace.leftOut,
    errors: spans.filter(({ error }) => error !== undefined).length,
    services: [...new Set(spans.map(({ service }) => service))].slice(0, 20)
  }
  return trace.line
}

/** Whether a span is before another one: a span without a parent is first, then the earlier span. */
function isBefore(a: Stored, b: Stored, { spans }: Trace): boolean {
  const [aHas, bHas] = [spans.has(a.parent), spans.has(b.parent)]
  return aHas === bHas ? a.start < b.start : !aHas
}

function matches(trace: Trace, wanted: string): boolean {
  if (trace.id.startsWith(wanted)) return true
  const has = (text: string | undefined) => text?.toLowerCase().includes(wanted) === true
  for (const { id, name, service, error, attributes, logs } of trace.spans.values()) {
    if (id.startsWith(wanted) || has(name) || has(service) || has(error)) return true
    if (attributes.some(([key, value]) => has(key) || has(value))) return true
    if (logs.some(({ text }) => has(text))) return true
  }
  return false
}

function sizeOf({ name, service, error, attributes, logs }: ReceivedSpan): number {
  let size = 200 + name.length + service.length + (error?.length ?? 0)
  for (const [key, value] of attributes) size += key.length + value.length + 16
  for (const { text } of logs) size += text.length + 20
  return size
}

/**
 * Checks the request of a page.
 * @throws {TypeError} the request is invalid
 */
export function readSearch({ text, onlyErrors, longerThan }: Readonly<Record<string, unknown>>): Search {
  if (typeof text !== 'string') throw new TypeError('text must be a text')
  const milliseconds = typeof longerThan === 'number' && longerThan > 0 ? longerThan : 0
  return { text: shortText(text, 200), onlyErrors: onlyErrors === true, longerThan: milliseconds }
}
