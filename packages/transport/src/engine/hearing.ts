/** Listeners for messages to a connection's own addresses. */
import type { Carried, CarrierListener } from './carrier.ts'

type Receive = (message: Carried) => void

/** Receivers, by where the engine delivers: a channel, a queue, a topic. */
export class Hearing {
  readonly #listener: Pick<CarrierListener, 'failed'>
  readonly #receivers = new Map<string, Receive>()

  /** @param listener is told when handling a message has failed */
  constructor(listener: Pick<CarrierListener, 'failed'>) {
    this.#listener = listener
  }

  /** Receives what comes to a place. */
  add(place: string, receive: Receive): void {
    this.#receivers.set(place, receive)
  }

  /** Receives there no more. */
  remove(place: string): void {
    this.#receivers.delete(place)
  }

  /** Whether somebody receives what comes to a place. */
  has(place: string): boolean {
    return this.#receivers.has(place)
  }

  /** Hands on a message that has come to a place, if somebody receives there. */
  hear(place: string, message: Carried): void {
    const receive = this.#receivers.get(place)
    if (receive !== undefined) this.guard(() => receive(message))
  }

  /** Tells one of our own addresses that nobody has got what it has asked. */
  nobody(place: string, address: string): void {
    this.hear(place, { address, words: '', reply: '', headers: undefined, isNobody: true })
  }

  /** Handles a message; what is thrown is reported, because it would stop the engine's driver. */
  guard(task: () => void): void {
    try {
      task()
    } catch (error) {
      this.#listener.failed(error)
    }
  }
}
