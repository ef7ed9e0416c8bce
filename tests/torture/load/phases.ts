/** Puts load on a server for some time, and measures how long requests take. */

import { pause } from '@elysia-microservices/test-support'
import { type CallOptions, type ClientTransport, RejectedError } from '@elysia-microservices/transport'
import type { Ledger } from '../support/ledger.ts'

/** The requests, and the server to which they are sent. */
export interface Target {
  readonly ledger: Ledger
  readonly clients: readonly ClientTransport[]
  readonly pattern: string
  readonly options?: CallOptions
}

/** The results of a phase. */
export interface PhaseResult {
  /** Requests made per second. */
  readonly offered: number
  /** Requests answered per second, while requests were being made. */
  readonly throughput: number
  /** The 99th percentile of the time of answered requests, in milliseconds. */
  readonly acceptedP99: number
  /** The 99th percentile of the time of refused requests, in milliseconds; 0: none was refused. */
  readonly refusedP99: number
  readonly refused: number
}

/** Collects the times of requests. */
class Meter {
  readonly #accepted: number[] = []
  readonly #refused: number[] = []
  readonly #startedAt = performance.now()
  #offered = 0
  #inTime = 0
  #seconds = 0

  async ask({ ledger, clients, pattern, options }: Target): Promise<void> {
    const client = clients[this.#offered++ % clients.length] as ClientTransport
    const at = performance.now()
    const { error } = await ledger.request(client, pattern, options)
    const took = performance.now() - at
    if (error === undefined) {
      this.#accepted.push(took)
      if (this.#seconds === 0) this.#inTime++
    } else if (error instanceof RejectedError) this.#refused.push(took)
  }

  /** Ends the measurement: no more requests are made. */
  stop(): void {
    this.#seconds = (performance.now() - this.#startedAt) / 1_000
  }

  get result(): PhaseResult {
    return {
      offered: this.#offered / this.#seconds,
      throughput: this.#inTime / this.#seconds,
      acceptedP99: percentile99(this.#accepted),
      refusedP99: percentile99(this.#refused),
      refused: this.#refused.length
    }
  }
}

/** Runs callers with one request at a time each: with enough callers, this measures what a service can do. */
export async function closedLoop(target: Target, callers: number, seconds: number): Promise<PhaseResult> {
  const meter = new Meter()
  let running = true
  const call = async () => {
    while (running) await meter.ask(target)
  }
  for (let caller = 0; caller < callers; caller++) void call()
  await pause(seconds * 1_000)
  running = false
  meter.stop()
  await target.ledger.settled()
  return meter.result
}

/** Makes a fixed number of requests per second, however long their answers take. */
export async function openLoop(target: Target, perSecond: number, seconds: number): Promise<PhaseResult> {
  const meter = new Meter()
  const startedAt = performance.now()
  let made = 0
  for (let gone = 0; gone < seconds; ) {
    await pause(1)
    gone = (performance.now() - startedAt) / 1_000
    for (; made < Math.min(gone, seconds) * perSecond; made++) void meter.ask(target)
  }
  meter.stop()
  await target.ledger.settled()
  return meter.result
}

function percentile99(values: number[]): number {
  values.sort((a, b) => a - b)
  return values[Math.ceil(values.length * 0.99) - 1] ?? 0
}
