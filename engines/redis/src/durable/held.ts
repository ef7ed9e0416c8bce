/**
 * The events of one stream that this process has received and not acknowledged, the last ones that it has
 * acknowledged, and the acknowledgements that the server has not confirmed.
 */
import { Recent } from '@elysia-microservices/engine'
import type { RedisConnection } from '../connection/redis-connection.ts'
import type { Reader } from '../driver.ts'
import { comparePositions } from '../words/keys.ts'
import { isFinal } from './errors.ts'
import type { RedisEvent } from './event.ts'

/**
 * Acknowledged events that are remembered: an acknowledgement may be lost together with its server, and then the
 * event is delivered again.
 */
const MAX_DONE = 4_096

/**
 * Identifies events by their positions, and looks at their ids: a server that has taken over without the last events, and
 * whose clock is behind, gives the positions of those to others.
 */
export class HeldEvents {
  readonly #held = new Map<string, RedisEvent>()
  /** Events that the server has lost: others may have their positions. */
  readonly #orphans = new Set<RedisEvent>()
  /** The ids of events that are done, by position. */
  #done = new Recent<string, string>(MAX_DONE)
  #size = 0

  /** The received events, by position. */
  get all(): ReadonlyMap<string, RedisEvent> {
    return this.#held
  }

  /** Characters of all received events. */
  get size(): number {
    return this.#size
  }

  take(event: RedisEvent): void {
    this.#held.set(event.place, event)
    this.#size += event.size
  }

  /** Removes an event. */
  drop(event: RedisEvent): void {
    if (this.#held.get(event.place) === event) this.#held.delete(event.place)
    else if (!this.#orphans.delete(event)) return
    this.#size -= event.size
  }

  /** Removes an event and remembers that it is done. */
  done(event: RedisEvent): void {
    const isOrphan = this.#orphans.has(event)
    this.drop(event)
    if (!isOrphan) this.#done.set(event.place, event.id)
  }

  /** The stream is another one: its events may have the positions of events that are done, or are still here. */
  beginAgain(): void {
    this.#done = new Recent(MAX_DONE)
    for (const event of this.#held.values()) this.#orphan(event)
  }

  /** The same event, which was received before and is not done; another one at its position is on its own from now on. */
  known(event: RedisEvent): RedisEvent | undefined {
    const known = this.#held.get(event.place)
    if (known === undefined || known.id === event.id) return known
    this.#orphan(known)
    return undefined
  }

  #orphan(event: RedisEvent): void {
    event.isOnlyHere = true
    this.#held.delete(event.place)
    this.#orphans.add(event)
  }

  /** Whether an event was done in this process. */
  isDone({ place, id }: RedisEvent): boolean {
    return this.#done.get(place) === id
  }
}

/** Acknowledgements that the server has not confirmed. Those of one turn of the event loop are sent together. */
export class Acknowledgements {
  readonly #reader: Reader
  readonly #isRemoved: boolean
  #places = new Set<string>()
  #isDue = false

  /** @param isRemoved whether events that are done are deleted */
  constructor(reader: Reader, isRemoved: boolean) {
    this.#reader = reader
    this.#isRemoved = isRemoved
  }

  /**
   * Adds the acknowledgement of an event. @returns whether the caller must arrange that `send` is called at the end
   * of this turn
   */
  add(place: string): boolean {
    this.#places.add(place)
    const wasDue = this.#isDue
    this.#isDue = true
    return !wasDue
  }

  /** Takes back the acknowledgement of an event that the server has lost. */
  takeBack(place: string): void {
    this.#places.delete(place)
  }

  /** Takes back those of the events that the server has lost: all behind a position. */
  takeBackBehind(position: string): void {
    for (const place of this.#places) if (comparePositions(place, position) > 0) this.#places.delete(place)
  }

  /**
   * Sends all acknowledgements that the server has not confirmed, including those from before it was lost.
   * @returns how many the server has confirmed
   * @throws {ReplyError} the server refuses them
   */
  async send(connection: RedisConnection | undefined): Promise<number> {
    this.#isDue = false
    const places = [...this.#places]
    if (places.length === 0 || connection?.isConnected !== true) return 0
    this.#places = new Set()
    try {
      await connection.store.acknowledge(this.#reader, places, this.#isRemoved)
      return places.length
    } catch (error) {
      const isReply = (error as Error).name === 'ReplyError'
      // A refusal that passes, for example while the server cannot write to its disk: the next call sends them again.
      if (!isReply || !isFinal(error as Error)) for (const place of places) this.#places.add(place)
      if (isReply) throw error
      return 0
    }
  }
}
