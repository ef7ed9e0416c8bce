/**
 * Decides whether more work may begin, depending on the work that all connections of a server have in flight. Only work
 * that takes more than one turn is counted. It counts until its handler has ended, even if its caller has cancelled: if
 * a timeout freed the place while the handler still runs, callers that retry would add work without limit.
 */
import { outside } from '../host.ts'
import type { AdaptiveConcurrency } from './adaptive-concurrency.ts'
import { TurnLimit } from './turn-limit.ts'

/** The limits of a server's work. */
export interface AdmissionOptions {
  /** Most requests, events and streams in flight; `Infinity` for no limit. */
  readonly maxInFlight: number
  /** Limits requests and events. Streams are not counted, because their length says nothing about load. */
  readonly adaptive: AdaptiveConcurrency | undefined
  /** Milliseconds of a clock that never goes back. */
  now(): number
  /** Calls the task when this turn of the event loop has ended. */
  afterTurn(task: () => void): void
}

/** A connection that may hold a lease. */
export interface LeaseHolder {
  /** Takes back the unused rest of its lease. The room is free when the client has confirmed it. */
  takeBack(): void
}

/** Work that waits for room. */
interface Waiting {
  readonly resume: () => void
  /** Whether it certainly has work. Otherwise no lease is taken back for it. */
  readonly isSure: boolean
}

/** Admits or refuses work. */
export class Admission {
  readonly #options: AdmissionOptions
  /**
   * Used only with an adaptive limit: also limits handlers that compute without waiting, and so are never in flight.
   */
  readonly #turn: TurnLimit | undefined
  #requests = 0
  #streams = 0
  #waiting: Waiting[] = []
  #sureWaiting = 0
  #wakeAsked = false
  /** The requests that leases allow and that have not arrived, by connection; the oldest lease first. */
  readonly #promises = new Map<LeaseHolder, number>()
  #promised = 0
  /** Number of connections with leases, which share the free room. */
  leaseHolders = 0

  constructor(options: AdmissionOptions) {
    this.#options = options
    if (options.adaptive !== undefined)
      this.#turn = new TurnLimit(options.now, options.afterTurn, () => this.#askWake())
  }

  /** Number of requests, events and streams in flight. */
  get inFlight(): number {
    return this.#requests + this.#streams
  }

  /** Number of connections that wait for room. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Number of requests that leases allow and that have not arrived. Their room is taken. */
  get promised(): number {
    return this.#promised
  }

  /** Number of requests without a lease that may begin now. */
  get room(): number {
    if (this.#turn?.exhausted) return 0
    const { maxInFlight, adaptive } = this.#options
    const total = maxInFlight - this.inFlight
    const room = adaptive === undefined ? total : Math.min(total, adaptive.limit - this.#requests)
    return Math.max(0, room - this.#promised)
  }

  /** Whether the handlers of this turn have computed for so long that no further request may begin in it. */
  get isTurnOver(): boolean {
    return this.#turn?.exhausted === true
  }

  /**
   * Number of requests that a connection with leases may be granted: its share of the room, at least one if there is
   * room.
   */
  get share(): number {
    return Math.ceil(this.room / Math.max(1, this.leaseHolders))
  }

  /** The reason for which a request without a lease may not begin now; `undefined` if it may begin. */
  refusal(): string | undefined {
    if (this.room > 0) return undefined
    const { maxInFlight, adaptive } = this.#options
    if (this.inFlight >= maxInFlight)
      return `The server is busy: as many requests as limits.inFlight allows (${maxInFlight}) are in flight`
    if (this.#promised > 0 && !this.isTurnOver) {
      this.takeBack(1)
      return 'The server is busy: what limits.inFlight allows is in flight, or promised to clients with leases'
    }
    return adaptive !== undefined && this.#requests < adaptive.limit
      ? 'The server is busy: its handlers compute without a pause, and more requests have arrived than they can answer in time'
      : `The server is busy: ${this.#requests} requests are in flight, as many as it can answer in time`
  }

  /**
   * Calls `resume` once, in a later microtask, when there is room. The function that has waited longest is called
   * first.
   * @param isSure whether there certainly is work. Then unused leases are taken back
   */
  whenFree(resume: () => void, isSure = true): void {
    this.#waiting.push({ resume, isSure })
    if (isSure) this.#sureWaiting++
    if (this.room > 0) this.#askWake()
    else this.#takeBackForWaiting()
  }

  /** Changes the number of requests that a lease allows and that have not arrived. */
  promise(holder: LeaseHolder, requests: number): void {
    const change = requests - (this.#promises.get(holder) ?? 0)
    if (change === 0) return
    this.#promised += change
    if (requests === 0) this.#promises.delete(holder)
    else this.#promises.set(holder, requests)
    // The request may be answered in this turn, or not have been sent at all.
    if (change < 0) this.#askWake()
  }

  /** Takes back the unused rests of some leases, oldest first. Those that are already taken back count. */
  takeBack(leases: number): void {
    for (const holder of this.#promises.keys()) {
      if (leases-- <= 0) return
      holder.takeBack()
    }
  }

  /** A request or event has not ended in the turn in which it arrived. */
  began(): void {
    this.#requests++
    this.#options.adaptive?.began(this.#options.now())
  }

  /** A request or event has ended. */
  ended(): void {
    this.#requests--
    this.#options.adaptive?.ended(this.#options.now())
    this.#askWake()
  }

  /** A stream of values has begun. */
  streamBegan(): void {
    this.#streams++
  }

  /** A stream has ended or was cancelled. */
  streamEnded(): void {
    this.#streams--
    this.#askWake()
  }

  /** Wakes connections in a microtask, because work may end while the connection to wake is handling something. */
  #askWake(): void {
    if (this.#wakeAsked || this.#waiting.length === 0) return
    this.#wakeAsked = true
    queueMicrotask(outside(() => this.#wake()))
  }

  #wake(): void {
    this.#wakeAsked = false
    // A connection that finds no room is added at the end again. This pass calls each connection at most once.
    let left = this.#waiting.length
    while (left-- > 0 && this.room > 0) {
      const { resume, isSure } = this.#waiting.shift() as Waiting
      if (isSure) this.#sureWaiting--
      resume()
    }
    if (this.room === 0) this.#takeBackForWaiting()
  }

  #takeBackForWaiting(): void {
    if (this.#promised > 0 && !this.isTurnOver) this.takeBack(this.#sureWaiting)
  }
}
