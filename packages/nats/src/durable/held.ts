/** The events of one handler that are here, and those that were done here a while ago. */
import { Recent } from '@elysia-microservices/transport/engine'
import type { NatsEvent } from './event.ts'
import { AGAIN_STREAM } from './names.ts'

/** Events that were acknowledged, of which it is remembered: the acknowledgement may be lost with its server. */
const MAX_DONE = 4_096

/** Knows events by the number in their stream, and by when they were stored: a stream made again counts from 1 again. */
export class HeldEvents {
  readonly #held = new Map<number, NatsEvent>()
  #bytes = 0
  /** The highest number that has come. */
  #highest = 0
  /** When each was stored. */
  readonly #done = new Recent<number, number>(MAX_DONE)

  get count(): number {
    return this.#held.size
  }

  /** Bytes of their bodies. */
  get bytes(): number {
    return this.#bytes
  }

  values(): Iterable<NatsEvent> {
    return this.#held.values()
  }

  /** Takes an event that has come. @returns whether it was here already, or was done here, and is not taken then */
  take(event: NatsEvent): 'taken' | 'here' | 'done' {
    const number = numberOf(event)
    // An event in the order of the stream, as nearly all are, cannot have been here before.
    if (number > this.#highest) this.#highest = number
    else {
      const { storedAt } = event.place
      const known = this.#held.get(number)
      if (known !== undefined && known.place.storedAt === storedAt) {
        known.reply = event.reply
        known.delivery = event.delivery
        known.leasedUntil = event.leasedUntil
        known.epoch = event.epoch
        return 'here'
      }
      if (this.#done.get(number) === storedAt) return 'done'
      // The held event is of a stream that is gone, so it belongs to nobody any more.
      if (known !== undefined) this.forget(known)
    }
    this.#held.set(number, event)
    this.#bytes += event.data.length
    return 'taken'
  }

  /**
   * Events that the server knows to be here, and nowhere else: delivered when it was asked, and not let go since.
   * @param lastDelivery the server's number of the last delivery when it was asked
   * @param epoch of the server that was asked
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

  /** It is not here any more. */
  forget(event: NatsEvent): void {
    const number = numberOf(event)
    if (this.#held.get(number) !== event) return
    this.#held.delete(number)
    this.#bytes -= event.data.length
  }

  /** It is not here any more, and is done. */
  done(event: NatsEvent): void {
    this.forget(event)
    this.#done.set(numberOf(event), event.place.storedAt)
  }
}

/** Redriven events have numbers of their own: below 0. */
function numberOf({ place }: NatsEvent): number {
  return place.stream === AGAIN_STREAM ? -place.sequence : place.sequence
}
