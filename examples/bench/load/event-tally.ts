/** Counts the events of a load that the server has handled, by what it reports at the end. */
import { setTimeout as wait } from 'node:timers/promises'
import type { EventCount, ServerProcess } from '../process/server-process.ts'
import { systemTime } from '../process/system-time.ts'

/** Milliseconds between two looks at the server, and without anything new until nothing more is on its way. */
const INTERVAL = 100
const SILENCE = 500
/** Milliseconds that a server gets for what is on its way. */
const PATIENCE = 15_000

type Counts = Pick<ServerProcess, 'countEvents'>

export interface Handled extends EventCount {
  /** How long was measured. */
  readonly seconds: number
}

export class EventTally {
  readonly #server: Counts
  #from = 0
  #to = 0

  constructor(server: Counts) {
    this.#server = server
  }

  /** The measured time begins, and ends. */
  measure(): void {
    this.#from = systemTime()
  }

  stop(): void {
    this.#to = systemTime()
  }

  /**
   * Waits until the server has handled all that was sent, or nothing more comes.
   *
   * @param sent how many events are to come in all
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
