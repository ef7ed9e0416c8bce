/**
 * Stores the events that NestJS clients emit to a durable pattern, because Redis itself keeps no published message.
 * Every process of the service receives the message, and one stores it.
 */
import { createHash } from 'node:crypto'
import { type Logger, quietLog, shown } from '@elysia-microservices/transport/kit'
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
  readonly #connection: RedisConnection
  readonly #events: EventStore
  readonly #logger: Logger
  /** How often each text has arrived recently. */
  #counts = new Map<string, number>()
  #countsBefore: ReadonlyMap<string, number> = new Map()
  #turnedAt = 0

  constructor(connection: RedisConnection, storage: DurableStorage, logger: Logger) {
    this.#connection = connection
    this.#events = new EventStore(connection, { ...storage, duplicateWindow: SAME })
    this.#logger = logger
  }

  /**
   * Subscribes to what NestJS clients publish. A service without the right to the channel, or to store events, only
   * gets events that clients of this library publish.
   */
  async hear(pattern: string): Promise<void> {
    try {
      await this.#connection.hearNest(pattern, this.receive)
    } catch (error) {
      if ((error as Error).name !== 'ReplyError') throw error
    }
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
      .catch((error: Error) =>
        quietLog(this.#logger).error(
          'unstored',
          `An event '${shown(pattern)}' of a Nest client could not be stored`,
          error
        )
      )
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
