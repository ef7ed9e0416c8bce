/** What is published while there is no server: held in order, up to a limit, and sent once there is one. */
import { OverloadedError } from '../errors/index.ts'

/** Bytes (or characters) of messages that may wait for a server. */
const MAX_HELD = 64 * 1024 * 1024

/** Messages that wait for a server. */
export class HeldMessages {
  readonly #max: number
  #messages: (() => void)[] = []
  #size = 0

  /** @param max bytes or characters that may be held; default: 64 MiB */
  constructor(max = MAX_HELD) {
    this.#max = max
  }

  /** Bytes, or characters, that are held. */
  get size(): number {
    return this.#size
  }

  /**
   * Holds a message.
   * @param publish publishes it, once there is a server
   * @throws {OverloadedError} too much is held already
   */
  hold(publish: () => void, size: number): void {
    if (this.#size + size > this.#max)
      throw new OverloadedError(
        `${this.#size} bytes wait for a server already, and ${size} more are too many`
      )
    this.#size += size
    this.#messages.push(publish)
  }

  /** Publishes what is held, in order. */
  release(): void {
    const messages = this.#messages
    this.#messages = []
    this.#size = 0
    for (const publish of messages) publish()
  }
}
