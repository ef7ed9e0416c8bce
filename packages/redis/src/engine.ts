/** The carrier of the dialogue over Redis. */
import type { CarrierListener, Engine } from '@elysia-microservices/transport/engine'
import { RedisConnection } from './connection/redis-connection.ts'
import { StoredPatterns } from './durable/stored-patterns.ts'
import type { CheckedOptions } from './options/options.ts'
import { channelOf } from './words/channels.ts'

/** Redis for one client or server. */
export class RedisEngine implements Engine<RedisConnection> {
  readonly name = 'redis'
  readonly title = 'Redis'
  readonly where: string
  readonly #options: CheckedOptions
  readonly #connectionName: string | undefined

  /** @param connectionName as CLIENT LIST shows it, unless the user has given one */
  constructor(options: CheckedOptions, connectionName?: string) {
    this.#options = options
    this.where = options.where
    this.#connectionName = connectionName?.replace(/[^!-~]+/g, '-')
  }

  async open(listener: CarrierListener): Promise<RedisConnection> {
    const connection = await RedisConnection.open(this.#options, this.#connectionName, listener)
    connection.routing.stored = new StoredPatterns(connection, this.#options.durable)
    return connection
  }

  subjectOf(route: string | undefined): string {
    return channelOf(route)
  }
}
