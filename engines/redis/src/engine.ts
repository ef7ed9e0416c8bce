/** Redis as an engine: the functions and rules that the shared code of all engines needs. */
import type { Engine } from '@elysia-microservices/engine'
import { RedisConnection } from './connection/redis-connection.ts'
import type { Driver } from './driver.ts'
import { StoredPatterns } from './durable/stored-patterns.ts'
import type { CheckedOptions } from './options/options.ts'
import { whyNot } from './words/channels.ts'

/**
 * Redis for one client or one service. @param service the name of its connections in CLIENT LIST, unless the option
 * `clientName` is set
 */
export function redisEngine(
  driver: Driver,
  options: CheckedOptions,
  service: string | undefined
): Engine<RedisConnection> {
  const connectionName = service?.replace(/[^!-~]+/g, '-')
  return {
    name: 'redis',
    inboxOption: 'inboxPrefix',
    title: 'Redis',
    where: options.where,
    whyNot,
    async open(listener) {
      const connection = await RedisConnection.open(driver, options, connectionName, listener)
      connection.routing.stored = new StoredPatterns(connection, options.durable)
      return connection
    }
  }
}
