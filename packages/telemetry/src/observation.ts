/** Observes one message that is handled, or one call that is made, from its beginning to its end. */
import type { ResultEnd, ResultWatcher } from '@elysia-microservices/transport'
import { context, type Span } from '@opentelemetry/api'
import { figures, type PatternFigures, type Side } from './figures/figures.ts'
import { clientOutcome, type Outcome, serverOutcome } from './outcome.ts'
import { STREAM_VALUES, systemOf } from './traces/attributes.ts'
import { end, rename, type Traced } from './traces/tracing.ts'

/** A message, as far as the server or the client knows it. */
export interface Observed {
  readonly transport: string
  readonly pattern: string
  /** Known for received messages only, like the next two fields. */
  readonly route?: string | undefined
  readonly matched?: string | undefined
  readonly isAborted?: boolean
  readonly isPassedOn?: boolean
  readonly remaining?: number | undefined
}

/** Counts a message. */
export class Measured implements ResultWatcher {
  readonly side: Side
  protected readonly message: Observed
  readonly #start: number
  readonly #figures: PatternFigures
  /** Whether the result is a stream that somebody reads. */
  protected isStream = false

  /** @param start the time at which the message began, on the clock of `performance.now()` */
  constructor(side: Side, message: Observed, start: number) {
    this.side = side
    this.message = message
    this.#start = start
    this.#figures = figuresOf(side, message, nameOf(message))
  }

  pending(): void {
    this.#figures.inFlight++
  }

  settled(): void {
    this.#figures.inFlight--
  }

  isLeft(): boolean {
    return this.message.isAborted === true
  }

  streaming(): void {
    this.isStream = true
    this.#figures.inFlight++
  }

  value(): void {
    if (this.isStream) this.#figures.values++
  }

  ended(how: ResultEnd): void {
    if (this.isStream) this.#figures.inFlight--
    const { side, message } = this
    const isReceived = side === 'server' || side === 'consumer'
    const outcome = isReceived ? serverOutcome(how, message) : clientOutcome(how)
    // The pattern's handler may have become known after the beginning, because a middleware has changed the message.
    const name = outcome.isUnknown ? undefined : nameOf(message)
    const counted = figuresOf(side, message, name)
    const ms = performance.now() - this.#start
    counted.ended(outcome.code, ms)
    if (this.isStream) counted.streamEnded(ms)
    if (counted !== this.#figures) figures[side].forget(this.#figures)
    this.tell(outcome, counted.pattern)
  }

  /** Called when the message has ended. @param name the pattern of its handler, or `_OTHER` */
  protected tell(_outcome: Outcome, _name: string): void {}
}

/** Counts a message, and runs the steps of its generator in the trace's context, although no span is recorded. */
export class Followed extends Measured {
  protected readonly traced: Traced

  constructor(side: Side, message: Observed, start: number, traced: Traced) {
    super(side, message, start)
    this.traced = traced
  }

  run<Result>(work: () => Result): Result {
    return context.with(this.traced.context, work)
  }
}

/** Counts a message, and records its outcome in its span. */
export class Recorded extends Followed {
  #values = 0
  /** The span of the current attempt, if the call was retried. */
  #attempt: Span | undefined

  override value(): void {
    super.value()
    if (this.isStream && ++this.#values === 1) this.traced.span.addEvent('stream.first_value')
  }

  /** Called when the call is retried. @param begin makes the span of the new attempt, in the context of the call */
  madeAgain(begin: (traced: Traced) => Span): void {
    this.#attempt?.end()
    this.#attempt = begin(this.traced)
  }

  protected override tell(outcome: Outcome, name: string): void {
    const { side, message } = this
    const { span } = this.traced
    if (this.isStream) {
      span.addEvent('stream.end')
      span.setAttribute(STREAM_VALUES, this.#values)
    }
    if (name !== message.pattern) rename(span, side, message.transport, message.pattern, name)
    this.#attempt?.end()
    end(span, side, message.transport, outcome)
  }
}

/**
 * The figures of a message. A message that a middleware has refused, or answered itself, need not have a handler, so its
 * pattern may be any text of a stranger.
 */
export function figuresOf(side: Side, message: Observed, name: string | undefined): PatternFigures {
  return figures[side].of(name, systemOf(side, message.transport), message.isPassedOn !== false)
}

/** The pattern of the handler if it is known; else the pattern that the caller has written. */
export function nameOf({ matched, route, pattern }: Observed): string {
  return matched ?? route ?? pattern
}
