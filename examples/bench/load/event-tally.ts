/** Counts how many events of a load the server has handled, by the totals that the server reports. */
import { setTimeout as wait } from 'node:timers/promises'
import type { EventCount, ServerProcess } from '../process/server-process.ts'
import { systemTime } from '../process/system-time.ts'

/**
 * Milliseconds between two questions to the server, and milliseconds without a new event after which none is expected
 * any more.
 */
const INTERVAL = 100
const SILENCE = 3_000
/** The most milliseconds to wait for events that are on their way. */
const PATIENCE = 15_000

type Counts = Pick<ServerProcess, 'countEvents'>

export interface Handled extends EventCount {
  /** The length of the measured time. */
  readonly seconds: number
}

export class EventTally {
  readonly #server: Counts
  #from = 0
  #to = 0

  constructor(server: Counts) {
    this.#server = server
  }

  /** Marks the beginning of the measured time. */
  measure(): void {
    this.#from = systemTime()
  }

  stop(): void {
    this.#to = systemTime()
  }

  /**
   * Waits until the server has handled all events, or no further ones arrive.
   *
   * @param sent how many events were sent in all
   */
  async settle(sent: number): Promise<Handled> {
    let handled: EventCount = { total: 0, measured: 0 }
    const began = performance.now()
    let changedAt = began
    for (let now = began; now - changedAt <= SILENCE && now - began <= PATIENCE; now = performance.now()) {
      const counted = await this.#server.countEvents(this.#from, this.#to)
      if (counted === undefined) break
      if (counted.total > handled.total) changedAt = performance.now()
      handled = counted
      if (handled.total >= sent) break
      await wait(INTERVAL)
    }
    return { ...handled, seconds: (this.#to - this.#from) / 1000 }
  }
}
