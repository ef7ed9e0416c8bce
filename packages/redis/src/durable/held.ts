/** The events of one stream that are here, those that were done here a while ago, and what the server is yet to be told. */
import { Recent } from '@elysia-microservices/transport/engine'
import type { RedisConnection } from '../connection/redis-connection.ts'
import type { RedisEvent, Source } from './event.ts'

/** Events that were acknowledged, of which it is remembered: the acknowledgement may be lost with its server. */
const MAX_DONE = 4_096

/** Knows events by their places. */
export class HeldEvents {
  readonly #held = new Map<string, RedisEvent>()
  readonly #done = new Recent<string, true>(MAX_DONE)
  #size = 0

  /** Events that are here, by their places. */
  get all(): ReadonlyMap<string, RedisEvent> {
    return this.#held
  }

  /** Characters of them. */
  get size(): number {
    return this.#size
  }

  take(event: RedisEvent): void {
    this.#held.set(event.place, event)
    this.#size += event.size
  }

  /** It is not here any more. */
  drop(event: RedisEvent): void {
    if (this.#held.delete(event.place)) this.#size -= event.size
  }

  /** It is not here any more, and is done. */
  done(event: RedisEvent): void {
    this.drop(event)
    this.#done.set(event.place, true)
  }

  /** Whether the event of a place was done here. */
  isDone(place: string): boolean {
    return this.#done.get(place) === true
  }
}

/** Acknowledgements on their way: those of one turn together, until the server has confirmed them. */
export class Acknowledgements {
  readonly #source: Source
  readonly #group: string
  #places = new Set<string>()
  #isDue = false

  constructor(source: Source, group: string) {
    this.#source = source
    this.#group = group
  }

  /** The event of a place is done. @returns whether `send` is to be called at the end of this turn: it is not due yet */
  add(place: string): boolean {
    this.#places.add(place)
    const wasDue = this.#isDue
    this.#isDue = true
    return !wasDue
  }

  /**
   * Tells the server of all that it has not confirmed, of this turn or from before it was lost.
   * @returns how many it has confirmed
   * @throws {ReplyError} it refuses them
   */
  async send(connection: RedisConnection | undefined): Promise<number> {
    this.#isDue = false
    const places = [...this.#places]
    if (places.length === 0 || connection?.isConnected !== true) return 0
    const { stream, isAgain } = this.#source
    this.#places = new Set()
    try {
      await Promise.all([
        connection.commands.xack(stream, this.#group, ...places),
        isAgain && connection.commands.xdel(stream, ...places)
      ])
      return places.length
    } catch (error) {
      if ((error as Error).name === 'ReplyError') throw error
      for (const place of places) this.#places.add(place)
      return 0
    }
  }
}
