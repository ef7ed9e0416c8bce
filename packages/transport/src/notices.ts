/** The status of a client, and those who want to know of it. */
import type { ClientEvent, ClientListener, ClientStatus } from './client-event.ts'
import type { Logger } from './logger.ts'
import { isThenable, whenSettled } from './stream.ts'

/** Tells listeners what happens. */
export class Notices {
  readonly #listeners = new Set<ClientListener>()
  readonly #logger: Logger
  #status: ClientStatus

  constructor(logger: Logger, status: ClientStatus = 'disconnected') {
    this.#logger = logger
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

  /** Returns the function that ends it. */
  listen(listener: ClientListener): () => void {
    // Registered twice, it is told twice, and ends once for each.
    const entry: ClientListener = (event) => listener(event)
    this.#listeners.add(entry)
    return () => this.#listeners.delete(entry)
  }

  readonly #failed = (error: unknown): void => {
    this.#logger.error('A listener of a client failed', error)
  }

  tell(event: ClientEvent): void {
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
