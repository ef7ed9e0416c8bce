/** The figures of handlers, as they appear in the description of a service. */
import type { HandlerFigures } from '@elysia-microservices/transport'
import { figures, type PatternFigures } from './figures.ts'
import { BOUNDS, Histogram, type StreamDurations } from './histogram.ts'

/** The figures of all patterns for which this process has received messages. */
export function handlerFigures(): HandlerFigures[] {
  return (['server', 'consumer'] as const).flatMap((side) => {
    // A handler has one line, even if several brokers have carried its events.
    const byPattern = new Map<string, PatternFigures[]>()
    for (const one of figures[side].all())
      byPattern.set(one.pattern, [...(byPattern.get(one.pattern) ?? []), one])
    return [...byPattern].map(([pattern, parts]) =>
      figuresOf(side === 'server' ? 'message' : 'event', pattern, parts)
    )
  })
}

function figuresOf(
  kind: HandlerFigures['kind'],
  pattern: string,
  parts: readonly PatternFigures[]
): HandlerFigures {
  const all = parts.flatMap(({ durations }) => [...durations])
  const outcomes = new Map<string, number>()
  for (const [code, { count }] of all) outcomes.set(code, (outcomes.get(code) ?? 0) + count)
  const streams = parts.flatMap(({ streams }) => (streams === undefined ? [] : [streams]))
  const ofStreams = streams.map(({ durations }) => durations)
  return {
    kind,
    pattern,
    inFlight: parts.reduce((sum, { inFlight }) => sum + inFlight, 0),
    outcomes: Object.fromEntries(outcomes),
    durations: {
      bounds: BOUNDS,
      counts: difference(added(all.map(([, histogram]) => histogram)), added(ofStreams))
    },
    ...lifetimesOf(streams)
  }
}

function lifetimesOf(streams: readonly StreamDurations[]): Pick<HandlerFigures, 'lifetimes'> {
  const [first] = streams
  if (first === undefined) return {}
  const { bounds } = first.lifetimes
  return { lifetimes: { bounds, counts: added(streams.map(({ lifetimes }) => lifetimes)) } }
}

/** Adds the counts of several histograms with the same bounds. */
function added(histograms: readonly Histogram[]): number[] {
  const [first = new Histogram(), ...others] = histograms
  return first.counts.map((count, bucket) =>
    others.reduce((sum, { counts }) => sum + (counts[bucket] as number), count)
  )
}

function difference(all: readonly number[], some: readonly number[]): number[] {
  return all.map((count, bucket) => count - (some[bucket] as number))
}
