/** `redis()` creates the transport, a value that is passed to services and clients. */
import { engineTransport } from '@elysia-microservices/engine'
import {
  STORES_EVERYTHING,
  type StoringTraits,
  type StoringTransport
} from '@elysia-microservices/transport/kit'
import { ioredis } from './connection/ioredis.ts'
import type { Driver } from './driver.ts'
import { RedisClientStore } from './durable/client-store.ts'
import { RedisServerStore } from './durable/server-store.ts'
import { redisEngine } from './engine.ts'
import { type RedisOptions, redisOptions } from './options/options.ts'

/** Redis, for any number of services and clients; each of them has its own connections. */
export interface RedisTransport extends StoringTransport {
  readonly name: 'redis'
}

const TRAITS: StoringTraits = {
  wildcards: true,
  hearsNobody: true,
  shares: 'engine',
  headers: true,
  channels: true,
  answerHeaders: true,
  stores: { ...STORES_EVERYTHING, future: true, backlog: 'all' }
}

/**
 * Redis. The transport exchanges messages with NestJS; between services and clients of this library it also has
 * demand, cancellation, deadlines and channels.
 * @throws {OptionError} an option is invalid
 * @example
 * ```ts
 * import { redis } from '@elysia-microservices/redis'
 * import { microservice } from 'elysia-microservices'
 *
 * await microservice({ name: 'orders', transport: redis({ url: 'redis://localhost:6379' }) }).listen()
 * ```
 */
export function redis(options: RedisOptions = {}): RedisTransport {
  return redisBy(ioredis, options)
}

/** Redis by another driver, for tests. */
export function redisBy(driver: Driver, options: RedisOptions): RedisTransport {
  const checked = redisOptions(options)
  return engineTransport({
    name: 'redis',
    traits: TRAITS,
    // The client chooses one process, whatever the name of its service is.
    hasQueuesOfServices: true,
    events: checked.events,
    engine: (service) => redisEngine(driver, checked, service?.name),
    serverStore: (context) => new RedisServerStore(checked, context),
    clientStore: (init) => new RedisClientStore(checked, init)
  })
}
