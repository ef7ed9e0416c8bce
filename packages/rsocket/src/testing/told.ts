/** Notes the events of clients, and waits for them. */
import type { ConnectionEvent } from '@elysia-microservices/transport/kit'

interface Teller {
  onStatus(listener: (event: ConnectionEvent) => void): () => void
}

export class Told {
  /** The events of all clients, in order. */
  readonly events: ConnectionEvent[] = []

  /** Notes the events of a client. */
  by(client: Teller): void {
    client.onStatus((event) => this.events.push(event))
  }

  named(type: ConnectionEvent['type'], endpoint?: string): readonly ConnectionEvent[] {
    return this.events.filter(
      (event) =>
        event.type === type &&
        (endpoint === undefined || ('endpoint' in event && event.endpoint === endpoint))
    )
  }

  /** Resolves when something is so, which an event of the client tells. */
  until(client: Teller, isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      if (isSo()) return resolve()
      const stop = client.onStatus(() => {
        // Other listeners may get the event later.
        queueMicrotask(() => {
          if (!isSo()) return
          stop()
          resolve()
        })
      })
    })
  }
}
