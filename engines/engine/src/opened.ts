/** Opens connections that may become unwanted meanwhile. */
import { ConnectionError, unlessAborted } from '@elysia-microservices/transport/kit'
import type { CarrierListener } from './carrier.ts'

/** An engine, or its store. */
interface Opener<Connection> {
  open(listener: CarrierListener): Promise<Connection>
}

/**
 * Opens a connection. When the signal of its listener aborts, this rejects at once with the reason of the signal, and a
 * connection that is made nevertheless is closed.
 * @throws the error of `open`
 */
export function opened<Connection extends { close(): Promise<void> }>(
  engine: Opener<Connection>,
  listener: CarrierListener
): Promise<Connection> {
  const opening = engine.open(listener)
  const closeLate = () =>
    opening.then(
      (late) => late.close(),
      () => {}
    )
  return unlessAborted(opening, listener.signal, () => void closeLate().catch(() => {}))
}

/** Whether a server is still wanted: from its start until it has been stopped. */
export class Wanted {
  readonly #controller = new AbortController()

  /** @param signal aborts when the start is not wanted any more */
  constructor(signal?: AbortSignal) {
    if (signal?.aborted === true) this.end()
    signal?.addEventListener('abort', () => this.end(), { once: true })
  }

  /** Aborts when the server is not wanted any more. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  end(): void {
    const message = 'The service was stopped before it was connected'
    this.#controller.abort(new ConnectionError(message, false, undefined, false))
  }
}
