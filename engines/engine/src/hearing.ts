/** Listeners for messages to a connection's own addresses. */
import type { Carried, CarrierListener } from './carrier.ts'

type Receive = (message: Carried) => void

/** Receivers by place: the unit at which the engine delivers messages, such as a channel, a queue or a topic. */
export class Hearing {
  readonly #listener: Pick<CarrierListener, 'failed'>
  readonly #receivers = new Map<string, Receive>()

  /** @param listener is told when the handling of a message has failed */
  constructor(listener: Pick<CarrierListener, 'failed'>) {
    this.#listener = listener
  }

  /** Registers the receiver of messages that arrive at a place. */
  add(place: string, receive: Receive): void {
    this.#receivers.set(place, receive)
  }

  /** Removes the receiver of a place. */
  remove(place: string): void {
    this.#receivers.delete(place)
  }

  /** Whether a place has a receiver. */
  has(place: string): boolean {
    return this.#receivers.has(place)
  }

  /** Passes a message that has arrived at a place to its receiver, if there is one. */
  hear(place: string, message: Carried): void {
    const receive = this.#receivers.get(place)
    if (receive !== undefined) this.guard(() => receive(message))
  }

  /** Reports to one of our own addresses that nobody has received a message whose reply address it is. */
  nobody(place: string, address: string): void {
    this.hear(place, { address, words: '', reply: '', headers: undefined, isNobody: true })
  }

  /** Handles a message. An error is reported and not thrown, because it would stop the engine's driver. */
  guard(task: () => void): void {
    try {
      task()
    } catch (error) {
      this.#listener.failed(error)
    }
  }
}
