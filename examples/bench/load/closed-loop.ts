/** Closed-loop load with a peer's client: each caller sends a request, waits for its answer, and sends the next. */
import type { Payload } from '../payload/payload.ts'
import type { EchoClient } from '../peers/echo-client.ts'
import { ERROR_PAUSE, type Load, Outstanding } from './load.ts'
import type { Meter } from './meter.ts'

export interface ClosedLoopOptions {
  readonly clients: readonly EchoClient[]
  readonly concurrency: number
  readonly payload: Payload
  readonly meter: Meter
}

export class ClosedLoop implements Load {
  readonly payload: Payload
  readonly meter: Meter
  readonly outstanding = new Outstanding()
  running = false

  readonly #clients: readonly EchoClient[]
  readonly #callers: readonly Caller[]

  /** Distributes `concurrency` callers over the clients. */
  constructor({ clients, concurrency, payload, meter }: ClosedLoopOptions) {
    this.payload = payload
    this.meter = meter
    this.#clients = clients
    this.#callers = Array.from(
      { length: concurrency },
      (_, index) => new Caller(this, clients[index % clients.length]!)
    )
  }

  start(): void {
    this.running = true
    for (const caller of this.#callers) caller.begin()
  }

  async finish(patience: number): Promise<void> {
    this.running = false
    const unanswered = await this.outstanding.settle(patience)
    if (unanswered > 0) this.meter.failed('no answer before the end of the run', unanswered)
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#clients.map((client) => client.close()))
  }
}

class Caller {
  readonly #load: ClosedLoop
  readonly #client: EchoClient
  #sentAt = 0

  constructor(load: ClosedLoop, client: EchoClient) {
    this.#load = load
    this.#client = client
  }

  readonly begin = (): void => {
    if (this.#load.running) this.#send(performance.now())
  }

  #send(now: number): void {
    const { payload, outstanding } = this.#load
    this.#sentAt = now
    outstanding.add(1)
    try {
      this.#client.echo(payload.value, this.#answered, this.#failed)
    } catch (error) {
      this.#failed(error)
    }
  }

  // Reads the clock once, for the end of a request and the beginning of the next.
  readonly #answered = (answer: unknown): void => {
    const { payload, meter, outstanding, running } = this.#load
    if (!payload.isEcho(answer)) {
      this.#failed(`wrong answer: expected ${payload.expected}`)
      return
    }
    const now = performance.now()
    meter.answers(now - this.#sentAt, 1)
    outstanding.remove(1)
    if (running) this.#send(now)
  }

  readonly #failed = (reason: unknown): void => {
    this.#load.meter.failed(reason)
    this.#load.outstanding.remove(1)
    if (this.#load.running) setTimeout(this.begin, ERROR_PAUSE)
  }
}
