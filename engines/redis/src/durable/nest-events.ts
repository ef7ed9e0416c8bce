/**
 * Stores the events that NestJS clients emit to a durable pattern, because Redis itself keeps no published message.
 * Every process of the service receives the message, and one stores it.
 */
import { createHash } from 'node:crypto'
import type { RedisConnection } from '../connection/redis-connection.ts'
import type { DurableStorage } from '../options/durable-options.ts'
import { isOnlyStored, readNest, STORED } from '../words/frames.ts'
import { EventStore } from './event-store.ts'

/**
 * Milliseconds within which all processes receive a message. The same text within this time is another message if it
 * comes again to the same process. Each process counts for twice this time, because processes begin to count at
 * different times.
 */
const SAME = 5_000

/** Stores events for the handlers of one pattern, in one process. */
export class NestEvents {
  readonly #events: EventStore
  readonly #failed: (pattern: string, error: Error) => void
  /** How often each text has arrived recently. */
  #counts = new Map<string, number>()
  #countsBefore: ReadonlyMap<string, number> = new Map()
  #turnedAt = 0

  /** @param failed is called if an event could not be stored */
  constructor(
    connection: RedisConnection,
    storage: DurableStorage,
    failed: (pattern: string, error: Error) => void
  ) {
    this.#events = new EventStore(connection, { ...storage, duplicateWindow: SAME })
    this.#failed = failed
  }

  /** Handles a message of a channel. */
  readonly receive = (pattern: string, text: string): void => {
    if (isOnlyStored(text)) return
    const { words, isRequest, headers, reached } = readNest(text)
    if (isRequest || reached.includes(STORED)) return
    const name = createHash('sha1').update(`${pattern}\n${text}`).digest('base64url')
    const id = `nest-${name}-${this.#count(name)}`
    this.#events
      .store({ route: pattern, packet: words, headers, id, isOwnId: false })
      .catch((error: Error) => this.#failed(pattern, error))
  }

  #count(name: string): number {
    const now = performance.now()
    if (now - this.#turnedAt > 2 * SAME) {
      this.#countsBefore = now - this.#turnedAt > 4 * SAME ? new Map() : this.#counts
      this.#counts = new Map()
      this.#turnedAt = now
    }
    const count = 1 + (this.#counts.get(name) ?? this.#countsBefore.get(name) ?? 0)
    this.#counts.set(name, count)
    return count
  }
}
