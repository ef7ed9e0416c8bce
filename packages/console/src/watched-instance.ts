/** One process of a service, seen again and again: what it has told of itself, and what it did since. */
import type { HandlerFigures } from '@elysia-microservices/transport/kit'
import { type Row, rowsBetween } from 'elysia-microservices/kit'
import type { ReadDescription } from './description.ts'
import type { DescribedService, Figures, PatternFigures, ServiceSample } from './protocol.ts'
import { totalBetween } from './total.ts'

/** Figures, and when they were read. */
interface Look {
  readonly at: number
  readonly figures: readonly HandlerFigures[]
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
  take({ described, transports, figures, outboxes }: ReadDescription): boolean {
    const look: Look = { at: performance.now(), figures }
    const before = this.#before
    this.#before = look
    if (before === undefined) this.#sample = { transports, outboxes, rows: [] }
    else {
      const seconds = (look.at - before.at) / 1_000
      const rows = rowsBetween(before.figures, figures, seconds)
      const total = totalBetween(before.figures, figures, rows)
      this.#sample = {
        transports,
        outboxes,
        ...(described.isCounted && { total: figuresOf(total) }),
        rows: rows.map(patternFiguresOf)
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
