/** The status of a client, its listeners, and its log lines. */

import { ClientLog } from './client-log.ts'
import type { ClientStatus, ConnectionEvent, ConnectionListener } from './connection-event.ts'
import type { Logger } from './logger.ts'
import { isThenable, whenSettled } from './stream.ts'

/** Stores the status of a client, and passes events to its listeners and its log. */
export class Notices {
  readonly #listeners = new Set<ConnectionListener>()
  readonly #logger: Logger
  readonly #log: ClientLog
  #status: ClientStatus

  /** @param isSingle the client has one connection at a time, whichever server it leads to */
  constructor(logger: Logger, status: ClientStatus = 'disconnected', isSingle = false) {
    this.#logger = logger
    this.#log = new ClientLog(logger, isSingle)
    this.#status = status
  }

  get status(): ClientStatus {
    return this.#status
  }

  set status(status: ClientStatus) {
    if (status === this.#status) return
    this.#status = status
    this.tell({ type: 'status', status })
  }

  /** Registers a listener. Returns a function that removes the listener. */
  listen(listener: ConnectionListener): () => void {
    // A new function each time, so that a listener which was registered twice gets each event twice, and is removed one
    // by one.
    const entry: ConnectionListener = (event) => listener(event)
    this.#listeners.add(entry)
    return () => this.#listeners.delete(entry)
  }

  readonly #failed = (error: unknown): void => {
    this.#logger.error('A listener of a client failed', error)
  }

  /** Passes an event to the log and to all listeners. Never throws, whatever a listener does. */
  tell(event: ConnectionEvent): void {
    this.#log.take(event)
    for (const listener of this.#listeners) {
      try {
        const result: unknown = listener(event)
        if (typeof result === 'object' && result !== null && isThenable(result))
          void whenSettled(result, () => {}, this.#failed)
      } catch (error) {
        this.#failed(error)
      }
    }
  }
}
