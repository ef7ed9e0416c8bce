/** The load of events that are already stored: a peer's consumer takes them as fast as it can. */
import { BenchError } from '../errors.ts'
import type { BenchOptions } from '../options/bench-options.ts'
import type { Payload } from '../payload/payload.ts'
import type { EchoClient } from '../peers/echo-client.ts'
import type { Load } from './load.ts'
import { describe, type Meter } from './meter.ts'

/** Events to store per second of warm-up and measuring: more than any peer takes. */
const A_SECOND = { consume: 180_000, relay: 25_000 }
/** Seconds for which additional events are stored. */
const SPARE = 0.5

export class Backlog implements Load {
  readonly #client: EchoClient
  readonly #payload: Payload
  readonly #meter: Meter
  readonly #count: number
  #taken = 0
  #isOver = false

  private constructor(client: EchoClient, payload: Payload, meter: Meter, count: number) {
    this.#client = client
    this.#payload = payload
    this.#meter = meter
    this.#count = count
  }

  /** Stores the events. @throws BenchError if they cannot be stored */
  static async open(
    client: EchoClient,
    { task, duration, warmup }: Pick<BenchOptions, 'task' | 'duration' | 'warmup'>,
    payload: Payload,
    meter: Meter
  ): Promise<Backlog> {
    const step = task.mode === 'durable' && task.step === 'relay' ? 'relay' : 'consume'
    const count = Math.ceil((warmup + duration + SPARE) * (client.takesAtMost ?? A_SECOND[step]))
    await client.fill!(count).catch((error: unknown) => {
      throw new BenchError(`${count} events cannot be stored: ${describe(error)}`)
    })
    return new Backlog(client, payload, meter, count)
  }

  start(): void {
    this.#client.takeStored!(this.#take).catch((error: unknown) => this.#meter.failed(error))
  }

  async finish(): Promise<void> {
    this.#isOver = true
  }

  async close(): Promise<void> {
    await this.#client.close().catch(() => {})
  }

  readonly #take = (data: unknown): void => {
    if (this.#isOver) return
    this.#taken++
    if (!this.#payload.isEcho(data)) this.#meter.failed(`wrong event: expected ${this.#payload.expected}`)
    else this.#meter.takes(1)
    if (this.#taken === this.#count)
      this.#meter.failed(`all of the ${this.#count} events were taken before the end: measure for less long`)
  }
}
