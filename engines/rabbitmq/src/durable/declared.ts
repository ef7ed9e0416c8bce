/** Waits until the server has the queue of a group: a group gets what is published from its start on. */
import { ConnectionError, endedWithin } from '@elysia-microservices/transport/kit'

/** Milliseconds within which the next connection must have declared it, if the server is lost meanwhile. */
const DECLARED_WITHIN = 5_000

export class Declared {
  #isThere = false
  #wake = () => {}

  /** The server has the queue. */
  done(): void {
    this.#isThere = true
    this.#wake()
  }

  /**
   * @param what the events, for the error
   * @throws {ConnectionError} the server was lost, and is not back soon
   */
  async soon(what: string): Promise<void> {
    if (this.#isThere) return
    const declared = new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    if (!(await endedWithin(declared, DECLARED_WITHIN)))
      throw new ConnectionError(`${what} has no queue yet: the connection to RabbitMQ was lost`, false)
  }
}
