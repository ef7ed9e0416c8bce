/** The spans of a trace as rows: each row is below its parent, and siblings are in the order of their start times. */
import type { SpanView, TraceView } from '../../protocol.ts'

/** One row. */
export interface Row {
  readonly span: SpanView
  /** Its depth: 0 for a span without a parent. */
  readonly depth: number
  /** The start and the length of the row's bar, as fractions of the whole trace. */
  readonly from: number
  readonly length: number
  /** The number of the row's service, in the order of the services' first spans. */
  readonly colour: number
}

/** The rows of a trace, with its start, its duration and its services. */
export interface Waterfall {
  readonly rows: readonly Row[]
  /** Milliseconds since 1970. */
  readonly start: number
  /** Milliseconds. */
  readonly duration: number
  readonly services: readonly string[]
}

/** Largest depth to which rows are indented. */
const MAX_DEPTH = 12

/** Orders the spans. Spans that name each other as parents are shown once, as if they had no parent. */
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
    // The loop does not use recursion, because a chain of spans from an unknown sender may be very long.
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
