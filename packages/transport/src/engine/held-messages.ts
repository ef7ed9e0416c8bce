/** Messages published while there is no server: held in order, up to a limit, and sent once there is one. */
import { OverloadedError } from '../errors/index.ts'
import type { CarrierListener } from './carrier.ts'

/** Bytes (or characters) of messages that may wait for a server. */
const MAX_HELD = 64 * 1024 * 1024

/** Messages that wait for a server. */
export class HeldMessages {
  readonly #listener: Pick<CarrierListener, 'unpublished' | 'failed'>
  readonly #max: number
  #messages: (() => void)[] = []
  #size = 0

  /**
   * @param listener is told of a message that is too many
   * @param max bytes or characters that may be held; default: 64 MiB
   */
  constructor(listener: Pick<CarrierListener, 'unpublished' | 'failed'>, max = MAX_HELD) {
    this.#listener = listener
    this.#max = max
  }

  /** Bytes, or characters, that are held. */
  get size(): number {
    return this.#size
  }

  /**
   * Holds a message.
   * @param publish publishes it, once there is a server
   * @throws what the listener throws if too much is held already
   */
  hold(address: string, size: number, publish: () => void): void {
    if (this.#size + size > this.#max) {
      const isFull = `${this.#size} bytes wait for a server already, and ${size} more are too many`
      return this.#listener.unpublished(address, new OverloadedError(isFull))
    }
    this.#size += size
    this.#messages.push(publish)
  }

  /** Publishes what is held, in order. One that fails does not take the others with it. */
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
