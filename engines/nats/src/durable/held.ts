/**
 * The events of one handler that this process has received and not acknowledged, and the last ones that it has
 * acknowledged.
 */
import { Recent } from '@elysia-microservices/engine'
import type { NatsEvent } from './event.ts'
import { AGAIN_STREAM } from './names.ts'

/**
 * Acknowledged events that are remembered: an acknowledgement may be lost together with its server, and then the
 * event is delivered again.
 */
const MAX_DONE = 4_096

/**
 * Identifies events by their number in the stream and the time at which they were stored, because a stream that was
 * created again counts from 1 again.
 */
export class HeldEvents {
  readonly #held = new Map<number, NatsEvent>()
  #bytes = 0
  /** The highest number that has arrived. */
  #highest = 0
  /** When each acknowledged event was stored, by number. */
  readonly #done = new Recent<number, number>(MAX_DONE)

  get count(): number {
    return this.#held.size
  }

  /** Bytes of the bodies of all events held. */
  get bytes(): number {
    return this.#bytes
  }

  values(): Iterable<NatsEvent> {
    return this.#held.values()
  }

  /** Whether this process has an event, or has acknowledged it. */
  has(event: NatsEvent): boolean {
    const number = numberOf(event)
    const { storedAt } = event.place
    return this.#held.get(number)?.place.storedAt === storedAt || this.#done.get(number) === storedAt
  }

  /**
   * Adds an event that has arrived. @returns `taken`: added; `here` or `done`: not added, because this process has
   * the event or has acknowledged it
   */
  take(event: NatsEvent): 'taken' | 'here' | 'done' {
    const number = numberOf(event)
    // An event with a higher number than all before, as nearly all have, cannot have arrived before.
    if (number > this.#highest) this.#highest = number
    else {
      const { storedAt } = event.place
      const known = this.#held.get(number)
      if (known !== undefined && known.place.storedAt === storedAt) {
        known.reply = event.reply
        known.delivery = event.delivery
        known.deliveries = event.deliveries
        known.leasedUntil = event.leasedUntil
        known.epoch = event.epoch
        return 'here'
      }
      if (this.#done.get(number) === storedAt) return 'done'
      // The event with the same number belongs to a stream that was deleted, so no server knows it any more.
      if (known !== undefined) this.forget(known)
    }
    this.#held.set(number, event)
    this.#bytes += event.data.length
    return 'taken'
  }

  /**
   * Counts the events that the server has delivered to this process and to no other: delivered before the server was
   * asked, and still within their share of `ackWait`.
   * @param lastDelivery the server's number of the last delivery when it was asked
   * @param epoch the connection to the server that was asked
   */
  countKnown(stream: string, lastDelivery: number, epoch: number): number {
    const now = performance.now()
    let count = 0
    for (const event of this.#held.values())
      if (
        event.place.stream === stream &&
        now < event.leasedUntil &&
        event.epoch === epoch &&
        event.delivery <= lastDelivery
      )
        count++
    return count
  }

  /** Removes an event. */
  forget(event: NatsEvent): void {
    const number = numberOf(event)
    if (this.#held.get(number) !== event) return
    this.#held.delete(number)
    this.#bytes -= event.data.length
  }

  /** Removes an event and remembers that it is done. */
  done(event: NatsEvent): void {
    this.forget(event)
    this.#done.set(numberOf(event), event.place.storedAt)
  }
}

/** The key of an event. Redriven events come from another stream, so their numbers are negated. */
function numberOf({ place }: NatsEvent): number {
  return place.stream === AGAIN_STREAM ? -place.sequence : place.sequence
}
