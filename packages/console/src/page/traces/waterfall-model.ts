/** The spans of a trace as rows: each below what it belongs to, in the order of their beginnings. */
import type { SpanView, TraceView } from '../../protocol.ts'

/** One row. */
export interface Row {
  readonly span: SpanView
  /** Its depth: 0 for a span without a parent. */
  readonly depth: number
  /** Where its bar begins, and how long it is: parts of 1. */
  readonly from: number
  readonly length: number
  /** The number of its service, in the order of the first spans. */
  readonly colour: number
}

/** Rows, and what they are measured by. */
export interface Waterfall {
  readonly rows: readonly Row[]
  /** Milliseconds since 1970. */
  readonly start: number
  /** Milliseconds. */
  readonly duration: number
  readonly services: readonly string[]
}

/** The greatest depth to which rows are indented. */
const MAX_DEPTH = 12

/** Puts the spans in order. Spans that name each other as parents are shown once, as if they belonged to nothing. */
export function waterfallOf({ spans }: TraceView): Waterfall {
  const known = new Map(spans.map((span) => [span.id, span]))
  const children = new Map<string, SpanView[]>()
  const first: SpanView[] = []
  for (const span of spans) {
    if (span.parent === span.id || !known.has(span.parent)) first.push(span)
    else children.set(span.parent, [...(children.get(span.parent) ?? []), span])
  }
  const start = spans.reduce((least, span) => Math.min(least, span.start), Number.POSITIVE_INFINITY)
  const end = spans.reduce((most, span) => Math.max(most, span.start + span.duration), 0)
  const duration = Math.max(end - start, 0.001)
  const services: string[] = []
  const rows: Row[] = []
  const seen = new Set<string>()
  const add = (begin: readonly SpanView[]) => {
    // Without recursion: a stranger may send spans in a long row.
    const left = [...begin].reverse().map((span) => ({ span, depth: 0 }))
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const { span, depth } = next
      if (seen.has(span.id)) continue
      seen.add(span.id)
      if (!services.includes(span.service)) services.push(span.service)
      rows.push({
        span,
        depth: Math.min(depth, MAX_DEPTH),
        from: (span.start - start) / duration,
        length: span.duration / duration,
        colour: services.indexOf(span.service) % 6
      })
      for (const child of [...(children.get(span.id) ?? [])].reverse())
        left.push({ span: child, depth: depth + 1 })
    }
  }
  add(first)
  add(spans.filter(({ id }) => !seen.has(id)))
  return {
    rows,
    start: spans.length === 0 ? 0 : start,
    duration: spans.length === 0 ? 0 : duration,
    services
  }
}
