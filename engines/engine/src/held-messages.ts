/** Holds messages published while there is no server: in order, up to a limit, until there is a server again. */
import { OverloadedError } from '@elysia-microservices/transport/kit'
import type { CarrierListener } from './carrier.ts'

/** Most bytes (or characters) of messages that may wait for a server. */
const MAX_HELD = 64 * 1024 * 1024

/** Messages that wait for a server. */
export class HeldMessages {
  readonly #listener: Pick<CarrierListener, 'unpublished' | 'failed'>
  readonly #max: number
  #messages: (() => void)[] = []
  #size = 0

  /**
   * @param listener is told of a message that exceeds the limit
   * @param max bytes or characters that may be held; default: 64 MiB
   */
  constructor(listener: Pick<CarrierListener, 'unpublished' | 'failed'>, max = MAX_HELD) {
    this.#listener = listener
    this.#max = max
  }

  /** Bytes (or characters) of the held messages. */
  get size(): number {
    return this.#size
  }

  /**
   * Holds a message.
   * @param publish publishes the message once there is a server
   * @throws the error that the listener throws for a message that exceeds the limit
   */
  hold(address: string, size: number, publish: () => void): void {
    if (this.#size + size > this.#max) {
      const isFull = `${this.#size} bytes already wait for a server; ${size} more would exceed the limit of ${this.#max}`
      return this.#listener.unpublished(address, new OverloadedError(isFull))
    }
    this.#size += size
    this.#messages.push(publish)
  }

  /** Publishes the held messages, in order. If one of them fails, the others are published nevertheless. */
  release(): void {
    const messages = this.#messages
    this.#messages = []
    this.#size = 0
    for (const publish of messages) {
      try {
        publish()
      } catch (error) {
        this.#listener.failed(error)
      }
    }
  }
}
