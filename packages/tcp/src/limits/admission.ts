/**
 * How much work all connections of a server have under way, and whether more may begin. Counts what takes
 * more than a turn; a handler that answers at once is never in flight. Work counts until its handler has
 * ended, also when its caller has given up: a slot that a timeout frees would be filled while the handler
 * still runs, and callers that ask again would add work without bound.
 */
import { outside } from '../outside.ts'
import type { AdaptiveConcurrency } from './adaptive-concurrency.ts'
import type { WorkCounter } from './counting.ts'
import { TurnLimit } from './turn-limit.ts'

/** What limits a server's work. */
export interface AdmissionOptions {
  /** Requests, events and streams in flight; `Infinity` for no limit. */
  readonly maxInFlight: number
  /** Limits requests and events, but not streams: how long those live says nothing about load. */
  readonly adaptive: AdaptiveConcurrency | undefined
  /** Milliseconds, of a clock that never goes back. */
  now(): number
  /** Calls the task when this turn of the event loop is over. */
  afterTurn(task: () => void): void
}

/** Lets work begin, or not. */
export class Admission implements WorkCounter {
  readonly #options: AdmissionOptions
  /** With an adaptive limit: also work that is never in flight is kept to what can be served in good time. */
  readonly #turn: TurnLimit | undefined
  #requests = 0
  #streams = 0
  #waiting: (() => void)[] = []
  #wakeAsked = false
  /** Connections that are granted leases: they share what is free. */
  leaseHolders = 0

  constructor(options: AdmissionOptions) {
    this.#options = options
    if (options.adaptive !== undefined)
      this.#turn = new TurnLimit(options.now, options.afterTurn, () => this.#askWake())
  }

  /** Requests, events and streams in flight. */
  get inFlight(): number {
    return this.#requests + this.#streams
  }

  /** Connections that wait for room. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Pieces of work that may begin now; 0 if none may. */
  get room(): number {
    if (this.#turn?.exhausted) return 0
    const { maxInFlight, adaptive } = this.#options
    const total = maxInFlight - this.inFlight
    return Math.max(0, adaptive === undefined ? total : Math.min(total, adaptive.limit - this.#requests))
  }

  /** What a connection with leases may be granted: its share of what is free, at least one if there is any. */
  get share(): number {
    return Math.ceil(this.room / Math.max(1, this.leaseHolders))
  }

  /** Why nothing may begin now; `undefined` if something may. */
  refusal(): string | undefined {
    if (this.room > 0) return undefined
    const { maxInFlight, adaptive } = this.#options
    if (this.inFlight >= maxInFlight)
      return `The server is busy: as many requests as limits.inFlight allows (${maxInFlight}) are in flight`
    return adaptive !== undefined && this.#requests < adaptive.limit
      ? 'The server is busy: its handlers compute without a pause, and more have come than it can serve in good time'
      : `The server is busy: ${this.#requests} requests are in flight, as many as it can serve in good time`
  }

  /** Calls `resume` once, in a later turn, when there is room. What has waited longest is called first. */
  whenFree(resume: () => void): void {
    this.#waiting.push(resume)
    if (this.room > 0) this.#askWake()
  }

  began(): void {
    this.#requests++
    this.#options.adaptive?.began(this.#options.now())
  }

  ended(): void {
    this.#requests--
    this.#options.adaptive?.ended(this.#options.now())
    this.#askWake()
  }

  streamBegan(): void {
    this.#streams++
  }

  streamEnded(): void {
    this.#streams--
    this.#askWake()
  }

  /** A microtask: work may end in the middle of a turn of the connection that would go on. */
  #askWake(): void {
    if (this.#wakeAsked || this.#waiting.length === 0) return
    this.#wakeAsked = true
    queueMicrotask(outside(() => this.#wake()))
  }

  #wake(): void {
    this.#wakeAsked = false
    // Connections that are refused again go to the back of the queue, and are called at most once per pass.
    let left = this.#waiting.length
    while (left-- > 0 && this.room > 0) this.#waiting.shift()?.()
  }
}
