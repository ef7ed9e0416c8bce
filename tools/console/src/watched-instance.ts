/** One process of a service that is asked repeatedly: its description, and its activity since the previous answer. */
import { createHash } from 'node:crypto'
import type { CallerFigures, HandlerFigures } from '@elysia-microservices/transport/kit'
import { type Row, rowsBetween } from 'elysia-microservices/kit'
import type { ReadDescription } from './description.ts'
import type { CallRate, DescribedService, Figures, PatternFigures, ServiceSample } from './protocol.ts'
import { totalBetween } from './total.ts'

/** Figures, and the time at which they were read. */
interface Look {
  readonly at: number
  readonly figures: readonly HandlerFigures[]
  readonly callers: readonly CallerFigures[]
}

/** Largest number of characters of a durable handler in a sample. */
const DURABLE = 1_000

/** A sample, and the time at which it was taken, in milliseconds since 1970. */
export interface ToldSample {
  readonly at: number
  readonly sample: ServiceSample
}

/** Watches one instance. */
export class WatchedInstance {
  /** The id under which the instance is shown. */
  readonly id: string
  /** The number of consecutive rounds in which the instance has not answered. */
  missed = 0
  /** The description of the instance. */
  described: DescribedService
  /** A digest of the description, which may be large. It shows whether the description has changed. */
  #digest = ''
  /** The approximate number of characters of the description. */
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

  /**
   * Returns the figures between the last two answers. Each sample is returned once. @param at milliseconds since
   * 1970
   */
  takeSample(at: number): ServiceSample | undefined {
    const sample = this.#sample
    this.#sample = undefined
    if (sample !== undefined) this.told = { at, sample }
    return sample
  }

  /** Forgets earlier figures, because no page is open any more, or because the instance has not answered. */
  rest(): void {
    this.#before = undefined
    this.#sample = undefined
    this.told = undefined
  }

  /**
   * Takes an answer. @param crowd the number of instances of all services @returns whether anything other than
   * figures has changed
   */
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

/** Largest numbers of calls that are sent for each instance, and for all instances together. */
const MAX_CALLS = 300
const MAX_ALL_CALLS = 3_000

/** The calls of callers between two samples. A caller that is new has made all its calls in this time. */
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
      // The count has become smaller, so the service counts from 0 again.
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

/** The figures are rounded, because nobody reads more digits and each page gets all figures each second. */
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
