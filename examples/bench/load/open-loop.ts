/**
 * Open-loop load with a peer's client: requests at a constant rate, whether or not earlier ones were answered.
 * Latency is measured from the time at which a request was due.
 */
import type { Payload } from '../payload/payload.ts'
import type { EchoClient } from '../peers/echo-client.ts'
import { deferred } from '../process/deferred.ts'
import { ConstantRate } from './constant-rate.ts'
import { type Load, Outstanding } from './load.ts'
import type { Meter } from './meter.ts'

export interface OpenLoopOptions {
  readonly clients: readonly EchoClient[]
  /** Requests per second. */
  readonly rate: number
  readonly payload: Payload
  readonly meter: Meter
}

/** The most requests that are sent in one go before sockets are read again. */
const BURST = 256
/** Timers fire about a millisecond late, so the last milliseconds are waited for by reading the clock. */
const TIMER_MARGIN = 2
/** The limits of outstanding requests, in number and in bytes. Beyond a limit, requests wait and are sent late. */
const LIMIT = { requests: 50_000, bytes: 256 * 1024 * 1024 }

export class OpenLoop implements Load {
  readonly #options: OpenLoopOptions
  readonly #outstanding = new Outstanding()
  readonly #limit: number
  readonly #allSent = deferred()
  #schedule: ConstantRate | undefined
  /** Requests that are due after this time are not sent. */
  #until = Number.POSITIVE_INFINITY
  #sent = 0

  constructor(options: OpenLoopOptions) {
    this.#options = options
    this.#limit = Math.max(1, Math.min(LIMIT.requests, LIMIT.bytes / Math.max(1, options.payload.bytes)))
  }

  start(): void {
    this.#schedule = new ConstantRate(this.#options.rate, performance.now())
    this.#tick(this.#schedule)
  }

  async finish(patience: number): Promise<void> {
    const schedule = this.#schedule
    if (schedule === undefined) return
    const { meter } = this.#options
    // Requests that were due until then are sent, even if late.
    const startedAt = performance.now()
    this.#until = Math.min(meter.stoppedAt, startedAt)
    const timer = setTimeout(this.#allSent.resolve, patience)
    await this.#allSent.promise
    clearTimeout(timer)
    const unsent = schedule.dueBefore(this.#until)
    this.#until = Number.NEGATIVE_INFINITY
    if (unsent > 0) meter.failed('not even sent: the rate is more than can be done', unsent)
    const unanswered = await this.#outstanding.settle(Math.max(0, startedAt + patience - performance.now()))
    if (unanswered > 0) meter.failed('no answer before the end of the run', unanswered)
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#options.clients.map((client) => client.close()))
  }

  #tick(schedule: ConstantRate): void {
    const now = performance.now()
    if (now >= this.#until && schedule.dueBefore(this.#until) === 0) {
      this.#allSent.resolve()
      return
    }
    const room = this.#limit - this.#outstanding.count
    const sending = Math.min(schedule.dueBefore(Math.min(now, this.#until)), room, BURST)
    for (let left = sending; left > 0; left--) this.#send(schedule.take())
    const wait = schedule.nextAt - now - TIMER_MARGIN
    if (wait > 0) setTimeout(() => this.#tick(schedule), wait)
    else setImmediate(() => this.#tick(schedule))
  }

  #send(dueAt: number): void {
    const { clients, payload, meter } = this.#options
    this.#outstanding.add(1)
    const failed = (reason: unknown) => {
      meter.failed(reason)
      this.#outstanding.remove(1)
    }
    const answered = (answer: unknown) => {
      if (!payload.isEcho(answer)) {
        failed(`wrong answer: expected ${payload.expected}`)
        return
      }
      meter.answerTo(dueAt, performance.now())
      this.#outstanding.remove(1)
    }
    try {
      clients[this.#sent++ % clients.length]!.echo(payload.value, answered, failed)
    } catch (error) {
      failed(error)
    }
  }
}
