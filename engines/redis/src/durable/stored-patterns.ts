/** The patterns of durable handlers. An event that is emitted to one of them is stored, as if it were published. */
import { type CarriedHeaders, newSecret } from '@elysia-microservices/engine'
import { routeMatches } from '@elysia-microservices/transport/kit'
import type { RedisConnection } from '../connection/redis-connection.ts'
import type { EmittedEvents } from '../connection/routing.ts'
import type { DurableStorage } from '../options/durable-options.ts'
import { GROUPS, readHandler } from '../words/keys.ts'
import { EventStore } from './event-store.ts'

/**
 * The most routes for which a process remembers whether their events are stored. The number is limited, because
 * patterns may be created at run time.
 */
const MAX_REMEMBERED = 1_024

/** The patterns of durable handlers, as one connection knows them. */
export class StoredPatterns implements EmittedEvents {
  readonly #connection: RedisConnection
  readonly #events: EventStore
  #known: Promise<readonly string[]> | undefined
  readonly #routes = new Map<string, boolean>()

  constructor(connection: RedisConnection, storage: DurableStorage) {
    this.#connection = connection
    this.#events = new EventStore(connection, storage)
  }

  /** Forgets the patterns, because they may have changed. */
  forget(): void {
    this.#known = undefined
    this.#routes.clear()
  }

  /** Stores an event if a durable handler has its pattern. @returns whether one has */
  async store(route: string, packet: string, headers: CarriedHeaders | undefined): Promise<boolean> {
    if (!(await this.#has(route))) return false
    const id = newSecret() + newSecret()
    await this.#events.store({ route, packet, headers, id, isOwnId: true })
    return true
  }

  async #has(route: string): Promise<boolean> {
    const remembered = this.#routes.get(route)
    if (remembered !== undefined) return remembered
    const known = this.#known ?? this.#look()
    const patterns = await known
    const isStored = patterns.some((pattern) => routeMatches(pattern, route))
    if (this.#routes.size >= MAX_REMEMBERED) this.#routes.clear()
    // If the patterns have changed in between, the result is not remembered.
    if (known === this.#known) this.#routes.set(route, isStored)
    return isStored
  }

  #look(): Promise<readonly string[]> {
    this.#known = this.#connection
      .hear(GROUPS, this.#changed)
      .then(() => this.#connection.store.handlers())
      .then((fields) => fields.map((field) => readHandler(field).pattern))
      .catch((error: Error) => {
        // A user without the right to read the patterns stores none of its emitted events.
        if (error.name === 'ReplyError') return []
        throw error
      })
    this.#known.catch(() => this.forget())
    return this.#known
  }

  readonly #changed = () => this.forget()
}
