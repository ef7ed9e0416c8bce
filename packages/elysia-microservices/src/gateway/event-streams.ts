/** The open event streams of a gateway, by the HTTP server that answers them. */
import { ConnectionError } from '@elysia-microservices/transport/kit'
import type { AnyElysia } from 'elysia'
import type { EventStream } from './event-stream.ts'

/** An app's HTTP server; all apps on Node share `undefined`, because Elysia's adapter for Node does not tell it. */
type Server = object | undefined

/**
 * The open event streams. An app's streams are closed when it stops, and it opens no further ones. On Node it is not
 * known which app answers: a stop closes the streams of all apps, and only the last app refuses further ones.
 */
export class EventStreams {
  readonly #open = new Map<Server, Set<EventStream>>()
  readonly #running = new Set<AnyElysia>()
  /** The servers of apps that are stopping. */
  readonly #stopping = new Map<AnyElysia, Server>()

  /**
   * The streams of a server; a new stream is added to them.
   * @throws {ConnectionError} the server is stopping, and would wait for a new stream without end
   */
  at(given: object | null | undefined): Set<EventStream> {
    const server = given ?? undefined
    const isStopping = [...this.#stopping.values()].includes(server)
    if (isStopping && (server !== undefined || this.#running.size === 0))
      throw new ConnectionError('The gateway is stopping', false)
    const known = this.#open.get(server)
    if (known !== undefined) return known
    const made = new Set<EventStream>()
    this.#open.set(server, made)
    return made
  }

  started(app: AnyElysia): void {
    this.#stopping.delete(app)
    this.#running.add(app)
  }

  /** The app begins to stop. */
  stopping(app: AnyElysia): void {
    const server = app.server ?? undefined
    this.#running.delete(app)
    this.#stopping.set(app, server)
    for (const stream of this.#open.get(server) ?? []) stream.close()
    this.#open.delete(server)
  }

  stopped(app: AnyElysia): void {
    this.#running.delete(app)
    this.#stopping.delete(app)
  }
}
