/** One service as it is asked again and again: what it has told of itself, and what it did since. */
import type { HandlerFigures } from '@elysia-microservices/transport/kit'
import { DESCRIBE_ROUTE, type Row, rowsBetween } from 'elysia-microservices/kit'
import { shortText } from './bounds.ts'
import type { ConsoleClient } from './clients.ts'
import { type ReadDescription, readDescription } from './description.ts'
import type { DescribedService, Figures, PatternFigures, ServiceSample, ServiceView } from './protocol.ts'

/** Milliseconds that a service may take to describe itself. */
const PATIENCE = 5_000

/** Figures, and when they were read. */
interface Look {
  readonly at: number
  readonly figures: readonly HandlerFigures[]
}

/** Asks one service. */
export class WatchedService {
  readonly #id: string
  readonly #client: ConsoleClient
  #problem: string | undefined = 'It has not answered yet'
  #described: DescribedService | undefined
  /** The description as text, to know whether it has changed. */
  #text = ''
  #before: Look | undefined
  #sample: ServiceSample | undefined
  #isAsking = false

  constructor(id: string, client: ConsoleClient) {
    this.#id = id
    this.#client = client
  }

  /** What it has told of itself. */
  get view(): ServiceView {
    const [problem, described] = [this.#problem, this.#described]
    return {
      id: this.#id,
      ...(problem !== undefined && { problem }),
      ...(described !== undefined && { described })
    }
  }

  /** What it did between the last two answers; each is given once. */
  takeSample(): ServiceSample | undefined {
    const sample = this.#sample
    this.#sample = undefined
    return sample
  }

  /** Forgets what was counted: nobody looks any more. */
  rest(): void {
    this.#before = undefined
    this.#sample = undefined
  }

  /**
   * Asks it, unless it still owes an answer. Never rejects.
   * @returns whether something else than figures has changed
   */
  async ask(signal: AbortSignal): Promise<boolean> {
    if (this.#isAsking) return false
    this.#isAsking = true
    try {
      const answer = await this.#client.request(
        DESCRIBE_ROUTE,
        { figures: true },
        { timeout: PATIENCE, signal }
      )
      return this.#take(readDescription(answer))
    } catch (error) {
      if (signal.aborted) return false
      this.#before = undefined
      return this.#fail(problemOf(error))
    } finally {
      this.#isAsking = false
    }
  }

  #take({ described, transports, figures }: ReadDescription): boolean {
    const look: Look = { at: performance.now(), figures }
    const before = this.#before
    this.#before = look
    if (before === undefined) this.#sample = { transports, rows: [] }
    else {
      const seconds = (look.at - before.at) / 1_000
      const [total] = rowsBetween([allOf(before.figures)], [allOf(figures)], seconds)
      this.#sample = {
        transports,
        ...(described.isCounted && total !== undefined && { total: figuresOf(total) }),
        rows: rowsBetween(before.figures, figures, seconds).map(patternFiguresOf)
      }
    }
    const text = JSON.stringify(described)
    const isNew = text !== this.#text || this.#problem !== undefined
    this.#text = text
    this.#described = described
    this.#problem = undefined
    return isNew
  }

  #fail(problem: string): boolean {
    const isNew = problem !== this.#problem
    this.#problem = problem
    return isNew
  }
}

function problemOf(error: unknown): string {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown }
  if (code === 'PATTERN_NOT_FOUND' || error instanceof TypeError)
    return code === 'PATTERN_NOT_FOUND'
      ? 'It does not describe itself: the service needs the option describe'
      : `It does not describe itself: ${shortText(message)}`
  return `It cannot be asked: ${shortText(message) || 'it failed without a word'}`
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
