/** The patterns of durable handlers: events that are emitted to one are stored, as if they were published. */
import { type CarriedHeaders, newSecret } from '@elysia-microservices/transport/engine'
import { routeMatches } from '@elysia-microservices/transport/kit'
import type { RedisConnection } from '../connection/redis-connection.ts'
import type { EmittedEvents } from '../connection/routing.ts'
import type { DurableStorage } from '../options/durable-options.ts'
import { EventStore } from './event-store.ts'
import { GROUPS, readHandler } from './keys.ts'

/** Routes of which it is remembered whether they are stored; bounded, because patterns may be made at run time. */
const MAX_REMEMBERED = 1_024

/** As one connection knows them. */
export class StoredPatterns implements EmittedEvents {
  readonly #connection: RedisConnection
  readonly #events: EventStore
  #known: Promise<readonly string[]> | undefined
  readonly #routes = new Map<string, boolean>()

  constructor(connection: RedisConnection, storage: DurableStorage) {
    this.#connection = connection
    this.#events = new EventStore(connection, storage)
  }

  /** They may be others by now. */
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
    const known = this.#known
    const patterns = await (known ?? this.#look())
    const isStored = patterns.some((pattern) => routeMatches(pattern, route))
    if (this.#routes.size >= MAX_REMEMBERED) this.#routes.clear()
    // If the patterns have changed meanwhile, the result is not remembered.
    if (known === this.#known || known === undefined) this.#routes.set(route, isStored)
    return isStored
  }

  #look(): Promise<readonly string[]> {
    this.#known = this.#connection
      .hear(GROUPS, this.#changed)
      .then(() => this.#connection.commands.hkeys(GROUPS))
      .then((fields) => fields.map((field) => readHandler(field).pattern))
      .catch((error: Error) => {
        // A user without the right to the store stores none of its emitted events.
        if (error.name === 'ReplyError') return []
        throw error
      })
    this.#known.catch(() => this.forget())
    return this.#known
  }

  readonly #changed = () => this.forget()
}
