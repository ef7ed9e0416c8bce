/** The engine of the dialogue over Redis. */
import type { Engine } from '@elysia-microservices/transport/engine'
import { RedisConnection } from './connection/redis-connection.ts'
import { StoredPatterns } from './durable/stored-patterns.ts'
import type { CheckedOptions } from './options/options.ts'
import { whyNot } from './words/channels.ts'

/** Redis for one client or service. @param service its name, which CLIENT LIST shows unless the user has given one */
export function redisEngine(options: CheckedOptions, service: string | undefined): Engine<RedisConnection> {
  const connectionName = service?.replace(/[^!-~]+/g, '-')
  return {
    name: 'redis',
    title: 'Redis',
    where: options.where,
    whyNot,
    async open(listener) {
      const connection = await RedisConnection.open(options, connectionName, listener)
      connection.routing.stored = new StoredPatterns(connection, options.durable)
      return connection
    }
  }
}
