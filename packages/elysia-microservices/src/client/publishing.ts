/** Counts the events that a client is publishing, so that it can wait for them before it is closed. */
import { ConnectionError, type DurableCaller } from '@elysia-microservices/transport/kit'

type Publish = DurableCaller['publish']

/** The events of one client that are not stored yet. */
export class Publishing {
  #inFlight = 0
  #isRefused = false

  get inFlight(): number {
    return this.#inFlight
  }

  /** Fails events that are published from now on. */
  refuse(): void {
    this.#isRefused = true
  }

  /** Publishes, and counts. */
  counted(publish: Publish): Publish {
    return async (pattern, data, options) => {
      if (this.#isRefused) throw ConnectionError.closed(false)
      this.#inFlight++
      try {
        return await publish(pattern, data, options)
      } finally {
        this.#inFlight--
      }
    }
  }
}
