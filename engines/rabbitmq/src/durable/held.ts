/** The events of a durable handler that this process has received and not settled, and those that are done. */
import { Recent } from '@elysia-microservices/engine'
import type { Deliveries } from './deliveries.ts'
import type { RabbitEvent } from './stored.ts'

/** Events that are remembered as done, in case an acknowledgement was lost. */
const MAX_DONE = 10_000

export class HeldEvents {
  /** By their unique ids. */
  readonly #held = new Map<string, RabbitEvent>()
  readonly #done = new Recent<string, true>(MAX_DONE)

  get size(): number {
    return this.#held.size
  }

  /**
   * Compares an event that has arrived with those that are here. `running`: its handler runs, and its end will settle
   * this delivery. `repeated`: it is done, or its publisher has sent it twice.
   */
  meet(event: RabbitEvent): 'new' | 'running' | 'repeated' {
    const known = this.#held.get(event.unique)
    if (known !== undefined && known.failed === event.failed && known.deliveries !== event.deliveries) {
      known.deliveries = event.deliveries
      known.tag = event.tag
      return 'running'
    }
    // After a short wait, the next attempt may arrive before the server has confirmed its copy. The last attempt is
    // acknowledged only after this confirmation.
    const isNextAttempt = known !== undefined && known.failed < event.failed
    const isRepeated = known !== undefined && !isNextAttempt
    return isRepeated || this.#done.get(event.unique) ? 'repeated' : 'new'
  }

  add(event: RabbitEvent): void {
    this.#held.set(event.unique, event)
  }

  forget(event: RabbitEvent): void {
    if (this.#held.get(event.unique) === event) this.#held.delete(event.unique)
  }

  /** The event is done, here and at the server. */
  done(event: RabbitEvent, current: Deliveries | undefined): void {
    this.#done.set(event.unique, true)
    this.settle(event, true, current)
  }

  /** Acknowledges or gives back the last delivery of an event, if its channel is still open. */
  settle(event: RabbitEvent, isDone: boolean, current: Deliveries | undefined): void {
    this.forget(event)
    const { deliveries, tag } = event
    if (deliveries !== current) return
    if (isDone) deliveries.acknowledge(tag)
    else deliveries.giveBack(tag)
  }
}
