/**
 * Load of events: each caller sends a batch of events, awaits the client's promises for them, and sends the next
 * batch.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { EchoClient } from '../peers/echo-client.ts'
import { ERROR_PAUSE, type Load, Outstanding } from './load.ts'
import type { Meter } from './meter.ts'

export interface EmitLoopOptions {
  readonly clients: readonly EchoClient[]
  readonly concurrency: number
  /** The number of events that are sent before the first of their promises is awaited. */
  readonly batch: number
  readonly payload: unknown
  readonly meter: Meter
}

/**
 * Milliseconds after which a caller lets the event loop run. If promises resolve at once, the event loop would never
 * run and nothing would be sent; an application would have to do the same.
 */
const TURN = 5

export class EmitLoop implements Load {
  readonly #options: EmitLoopOptions
  readonly #outstanding = new Outstanding()
  #running = false

  constructor(options: EmitLoopOptions) {
    this.#options = options
  }

  start(): void {
    this.#running = true
    const { clients, concurrency } = this.#options
    for (let index = 0; index < concurrency; index++) void this.#call(clients[index % clients.length]!)
  }

  async finish(patience: number): Promise<void> {
    this.#running = false
    const unsettled = await this.#outstanding.settle(patience)
    if (unsettled > 0) this.#options.meter.failed('a promise of emit did not settle', unsettled)
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#options.clients.map((client) => client.close()))
  }

  async #call(client: EchoClient): Promise<void> {
    const { batch, meter } = this.#options
    let turnedAt = performance.now()
    while (this.#running) {
      const sentAt = performance.now()
      this.#outstanding.add(batch)
      const sent = batch === 1 ? await this.#one(client) : await this.#many(client, batch)
      this.#outstanding.remove(batch)
      const now = performance.now()
      if (sent > 0) meter.answers(now - sentAt, sent)
      if (sent < batch) await wait(ERROR_PAUSE)
      else if (now - turnedAt < TURN) continue
      else await new Promise(setImmediate)
      turnedAt = performance.now()
    }
  }

  /** @returns how many events were sent, according to the client */
  async #one(client: EchoClient): Promise<number> {
    try {
      await client.emit!(this.#options.payload)
      return 1
    } catch (error) {
      this.#options.meter.failed(error)
      return 0
    }
  }

  async #many(client: EchoClient, batch: number): Promise<number> {
    const { payload, meter } = this.#options
    let sent = 0
    const ok = () => {
      sent++
    }
    const failed = (reason: unknown) => meter.failed(reason)
    const promises: Promise<void>[] = []
    for (let left = batch; left > 0; left--) {
      try {
        promises.push(client.emit!(payload).then(ok, failed))
      } catch (error) {
        failed(error)
      }
    }
    await Promise.all(promises)
    return sent
  }
}
