/** One process of a service, seen again and again: what it has told of itself, and what it did since. */
import { createHash } from 'node:crypto'
import type { CallerFigures, HandlerFigures } from '@elysia-microservices/transport/kit'
import { type Row, rowsBetween } from 'elysia-microservices/kit'
import type { ReadDescription } from './description.ts'
import type { CallRate, DescribedService, Figures, PatternFigures, ServiceSample } from './protocol.ts'
import { totalBetween } from './total.ts'

/** Figures, and when they were read. */
interface Look {
  readonly at: number
  readonly figures: readonly HandlerFigures[]
  readonly callers: readonly CallerFigures[]
}

/** Characters that a durable handler takes in a sample, at most. */
const DURABLE = 1_000

/** A sample, and when it was taken: milliseconds since 1970. */
export interface ToldSample {
  readonly at: number
  readonly sample: ServiceSample
}

/** Looks at one instance. */
export class WatchedInstance {
  /** The place that it is shown in. */
  readonly id: string
  /** Rounds of questions in which it has not answered, one after the other. */
  missed = 0
  /** Its description. */
  described: DescribedService
  /** Changes when the description does, which may be large itself. */
  #digest = ''
  /** Characters of its description, about. */
  size = 0
  #before: Look | undefined
  #sample: ServiceSample | undefined
  /** The last sample that was taken. */
  told: ToldSample | undefined

  constructor(id: string, read: ReadDescription) {
    this.id = id
    this.described = read.described
    this.take(read)
  }

  /** Its figures between the last two answers; each sample is given once. @param at milliseconds since 1970 */
  takeSample(at: number): ServiceSample | undefined {
    const sample = this.#sample
    this.#sample = undefined
    if (sample !== undefined) this.told = { at, sample }
    return sample
  }

  /** Forgets what was counted: nobody looks any more, or it has not answered. */
  rest(): void {
    this.#before = undefined
    this.#sample = undefined
    this.told = undefined
  }

  /** Takes an answer. @param crowd instances of all services. @returns whether something else than figures has changed */
  take({ described, transports, figures, outboxes, callers }: ReadDescription, crowd = 1): boolean {
    const look: Look = { at: performance.now(), figures, callers }
    const before = this.#before
    this.#before = look
    if (before === undefined) this.#sample = { transports, outboxes, rows: [], calls: [] }
    else {
      const seconds = (look.at - before.at) / 1_000
      const rows = rowsBetween(before.figures, figures, seconds)
      const total = totalBetween(before.figures, figures, rows)
      this.#sample = {
        transports,
        outboxes,
        ...(described.isCounted && { total: figuresOf(total) }),
        rows: rows.map(patternFiguresOf),
        calls: callsBetween(before.callers, callers, seconds, Math.ceil(MAX_ALL_CALLS / crowd))
      }
    }
    const text = JSON.stringify(described)
    const digest = createHash('sha256').update(text).digest('base64')
    this.size = text.length + DURABLE * transports.reduce((sum, { durable }) => sum + durable.length, 0)
    const isNew = digest !== this.#digest || this.missed > 0
    this.#digest = digest
    this.described = described
    this.missed = 0
    return isNew
  }
}

/** Calls that are told of each instance, and of all together. */
const MAX_CALLS = 300
const MAX_ALL_CALLS = 3_000

/** The calls of callers between two looks. A caller that was not there before has begun since. */
function callsBetween(
  before: readonly CallerFigures[],
  now: readonly CallerFigures[],
  seconds: number,
  most: number
): CallRate[] {
  const known = new Map(before.map((each) => [keyOf(each), each]))
  return now
    .map((each): CallRate => {
      const old = known.get(keyOf(each))
      // It counts from 0 again.
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
    .slice(0, Math.min(MAX_CALLS, most))
}

function keyOf({ from, caller, kind, transport, pattern }: CallerFigures): string {
  return JSON.stringify([from, caller, kind, transport, pattern])
}

function patternFiguresOf(row: Row): PatternFigures {
  return { kind: row.kind, pattern: row.pattern, ...figuresOf(row) }
}

/** Rounded: nobody sees more, and each page is sent all of them each second. */
function figuresOf(row: Omit<Row, 'kind' | 'pattern'>): Figures {
  const { rate, p50, p90, p99, lifetime, inFlight, errors, failures } = row
  return {
    rate: rounded(rate),
    ...(p50 !== undefined && { p50: rounded(p50) }),
    ...(p90 !== undefined && { p90: rounded(p90) }),
    ...(p99 !== undefined && { p99: rounded(p99) }),
    ...(lifetime !== undefined && { lifetime: rounded(lifetime) }),
    inFlight,
    errors: rounded(errors),
    failures: rounded(failures)
  }
}

function rounded(value: number): number {
  return Number(value.toPrecision(4))
}
