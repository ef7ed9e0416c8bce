/** One process of a service, seen again and again: what it has told of itself, and what it did since. */
import type { CallerFigures, HandlerFigures } from '@elysia-microservices/transport/kit'
import { type Row, rowsBetween } from 'elysia-microservices/kit'
import type { ReadDescription } from './description.ts'
import type { CallRate, DescribedService, Figures, PatternFigures, ServiceSample } from './protocol.ts'

/** Figures, and when they were read. */
interface Look {
  readonly at: number
  readonly figures: readonly HandlerFigures[]
  readonly callers: readonly CallerFigures[]
}

/** Looks at one instance. */
export class WatchedInstance {
  /** The place that it is shown in. */
  readonly id: string
  /** Rounds of questions in which it has not answered, one after the other. */
  missed = 0
  /** What it has told of itself. */
  described: DescribedService
  /** The description as text, to know whether it has changed. */
  #text: string
  #before: Look | undefined
  #sample: ServiceSample | undefined

  constructor(id: string, read: ReadDescription) {
    this.id = id
    this.described = read.described
    this.#text = JSON.stringify(read.described)
    this.take(read)
  }

  /** What it did between the last two answers; each is given once. */
  takeSample(): ServiceSample | undefined {
    const sample = this.#sample
    this.#sample = undefined
    return sample
  }

  /** Forgets what was counted: nobody looks any more, or it has not answered. */
  rest(): void {
    this.#before = undefined
    this.#sample = undefined
  }

  /** Takes an answer. @returns whether something else than figures has changed */
  take({ described, transports, figures, callers }: ReadDescription): boolean {
    const look: Look = { at: performance.now(), figures, callers }
    const before = this.#before
    this.#before = look
    if (before === undefined) this.#sample = { transports, rows: [], calls: [] }
    else {
      const seconds = (look.at - before.at) / 1_000
      const [total] = rowsBetween([allOf(before.figures)], [allOf(figures)], seconds)
      this.#sample = {
        transports,
        ...(described.isCounted && total !== undefined && { total: figuresOf(total) }),
        rows: rowsBetween(before.figures, figures, seconds).map(patternFiguresOf),
        calls: callsBetween(before.callers, callers, seconds)
      }
    }
    const text = JSON.stringify(described)
    const isNew = text !== this.#text || this.missed > 0
    this.#text = text
    this.described = described
    this.missed = 0
    return isNew
  }
}

/** Calls that are told of each instance. */
const MAX_CALLS = 300

/** What callers asked between two looks. One that was not there before has begun since. */
function callsBetween(
  before: readonly CallerFigures[],
  now: readonly CallerFigures[],
  seconds: number
): CallRate[] {
  const known = new Map(before.map((each) => [keyOf(each), each]))
  return now
    .map((each): CallRate => {
      const old = known.get(keyOf(each))
      // It has begun to count anew.
      const base =
        old !== undefined && old.count <= each.count ? old : { count: 0, errors: 0, milliseconds: 0 }
      const count = each.count - base.count
      const { from, caller, kind, transport, pattern } = each
      return {
        from,
        ...(caller !== undefined && { caller }),
        kind,
        transport,
        pattern,
        rate: rounded(count / seconds),
        errors: rounded(Math.max(0, each.errors - base.errors) / seconds),
        ...(count > 0 && { ms: rounded(Math.max(0, each.milliseconds - base.milliseconds) / count) })
      }
    })
    .sort((a, b) => b.rate - a.rate)
    .slice(0, MAX_CALLS)
}

function keyOf({ from, caller, kind, transport, pattern }: CallerFigures): string {
  return JSON.stringify([from, caller, kind, transport, pattern])
}

/** All requests together, as one pattern. Those with other buckets than the first cannot be added, and are left out. */
function allOf(figures: readonly HandlerFigures[]): HandlerFigures {
  const messages = figures.filter(({ kind }) => kind === 'message')
  const bounds = messages[0]?.durations.bounds ?? []
  const same = messages.filter(({ durations }) => isSame(durations.bounds, bounds))
  const outcomes: Record<string, number> = Object.create(null)
  for (const each of same)
    for (const [code, count] of Object.entries(each.outcomes)) outcomes[code] = (outcomes[code] ?? 0) + count
  return {
    kind: 'message',
    pattern: '',
    inFlight: same.reduce((sum, { inFlight }) => sum + inFlight, 0),
    outcomes,
    durations: {
      bounds,
      counts: [...bounds, 0].map((_, bucket) =>
        same.reduce((sum, { durations }) => sum + (durations.counts[bucket] ?? 0), 0)
      )
    }
  }
}

function isSame(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((bound, index) => bound === b[index])
}

function patternFiguresOf(row: Row): PatternFigures {
  return { kind: row.kind, pattern: row.pattern, ...figuresOf(row) }
}

/** Rounded: nobody sees more, and each page is sent all of them each second. */
function figuresOf({ rate, p50, p90, p99, inFlight, errors }: Row): Figures {
  return {
    rate: rounded(rate),
    ...(p50 !== undefined && { p50: rounded(p50) }),
    ...(p90 !== undefined && { p90: rounded(p90) }),
    ...(p99 !== undefined && { p99: rounded(p99) }),
    inFlight,
    errors: rounded(errors)
  }
}

function rounded(value: number): number {
  return Number(value.toPrecision(4))
}
