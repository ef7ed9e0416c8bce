/** Load of streams with a peer's client: each reader reads a stream to its end, and opens the next one. */
import { setTimeout as wait } from 'node:timers/promises'
import { isRecord } from '../payload/payload.ts'
import type { EchoClient, StreamReader } from '../peers/echo-client.ts'
import { ERROR_PAUSE, type Load, Outstanding } from './load.ts'
import type { Meter } from './meter.ts'

export interface StreamLoopOptions {
  readonly clients: readonly EchoClient[]
  /** The number of streams that are read at a time. */
  readonly streams: number
  /** The number of values of each stream. */
  readonly values: number
  /** Milliseconds that a reader waits after each value. */
  readonly pause: number
  readonly meter: Meter
}

export class StreamLoop implements Load {
  readonly options: StreamLoopOptions
  readonly outstanding = new Outstanding()
  running = false
  /** The streams that are being read, each with the function that leaves it. */
  readonly leaving = new Map<Reading, () => void>()

  constructor(options: StreamLoopOptions) {
    this.options = options
  }

  start(): void {
    this.running = true
    const { clients, streams } = this.options
    for (let index = 0; index < streams; index++) this.read(clients[index % clients.length]!)
  }

  /** Opens a stream, and the next one when it has ended. */
  read(client: EchoClient): void {
    if (!this.running) return
    const reading = new Reading(this, client)
    this.outstanding.add(1)
    try {
      const leave = client.stream!(this.options.values, reading)
      if (!reading.isOver) this.leaving.set(reading, leave)
    } catch (error) {
      reading.failed(error)
    }
  }

  /** Leaves all streams, which ends them early and is not an error. */
  async finish(patience: number): Promise<void> {
    this.running = false
    for (const leave of this.leaving.values()) leave()
    const left = await this.outstanding.settle(patience)
    if (left > 0) this.options.meter.failed('a stream that was left did not end', left)
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.options.clients.map((client) => client.close()))
  }
}

/** Reads one stream from its first value to its end. */
class Reading implements StreamReader {
  isOver = false
  readonly #loop: StreamLoop
  readonly #client: EchoClient
  readonly #askedAt = performance.now()
  #seen = 0

  constructor(loop: StreamLoop, client: EchoClient) {
    this.#loop = loop
    this.#client = client
  }

  readonly value = (value: unknown): Promise<unknown> | undefined => {
    const { running, options } = this.#loop
    if (this.isOver || !running) return undefined
    const { meter, pause } = options
    const expected = this.#seen++
    if (!isRecord(value, expected)) {
      this.failed(`wrong value: expected the record ${expected}`)
      return undefined
    }
    if (expected === 0) meter.first(performance.now() - this.#askedAt)
    meter.takes(1)
    return pause === 0 ? undefined : wait(pause)
  }

  readonly ended = (): void => {
    if (this.isOver) return
    const { running, options } = this.#loop
    if (running && this.#seen !== options.values) {
      this.failed(`the stream ended after ${this.#seen} of ${options.values} values`)
      return
    }
    this.#end()
    this.#loop.read(this.#client)
  }

  readonly failed = (reason: unknown): void => {
    if (this.isOver) return
    this.#loop.options.meter.failed(reason)
    const leave = this.#loop.leaving.get(this)
    this.#end()
    leave?.()
    setTimeout(() => this.#loop.read(this.#client), ERROR_PAUSE)
  }

  #end(): void {
    this.isOver = true
    this.#loop.leaving.delete(this)
    this.#loop.outstanding.remove(1)
  }
}
