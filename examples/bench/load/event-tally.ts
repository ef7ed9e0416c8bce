/** What became of the events of a load: how many the server has handled, by its own count and clock. */
import { setTimeout as wait } from 'node:timers/promises'
import type { EventCount, ServerProcess } from '../process/server-process.ts'

/** Milliseconds between two looks at the server, and without anything new until nothing more is on its way. */
const INTERVAL = 100
const SILENCE = 500
/** Milliseconds that a server gets for what is on its way. */
const PATIENCE = 15_000

type Counts = Pick<ServerProcess, 'countEvents'>

export interface Handled {
  /** In the measured time, which took so many seconds by the server's clock. */
  readonly measured: number
  readonly seconds: number
  /** In all, warm-up included. */
  readonly total: number
}

export class EventTally {
  readonly #server: Counts
  // A busy server answers late, and says when it counted: nobody waits here.
  #first: Promise<EventCount | undefined> | undefined
  #last: Promise<EventCount | undefined> | undefined

  constructor(server: Counts) {
    this.#server = server
  }

  /** The measured time begins, and ends. */
  measure(): void {
    this.#first = this.#server.countEvents()
  }

  stop(): void {
    this.#last = this.#server.countEvents()
  }

  /**
   * Waits until the server has handled all that was sent, or nothing more comes.
   *
   * @param sent how many events are to come in all
   */
  async settle(sent: number): Promise<Handled> {
    const [first, last] = await Promise.all([this.#first, this.#last])
    let total = last?.count ?? 0
    const began = performance.now()
    let changedAt = began
    for (let now = began; total < sent; now = performance.now()) {
      if (now - changedAt > SILENCE || now - began > PATIENCE) break
      await wait(INTERVAL)
      const counted = await this.#server.countEvents()
      if (counted === undefined) break
      if (counted.count > total) changedAt = performance.now()
      total = counted.count
    }
    const known = first !== undefined && last !== undefined
    return {
      measured: known ? last.count - first.count : 0,
      seconds: known ? (last.at - first.at) / 1000 : 0,
      total
    }
  }
}
