/** `redis()`: the transport as a value that services and clients are given. */
import type { ClientTransport, ServerTransport, Traits, Transport } from '@elysia-microservices/transport/kit'
import { redisClient } from './client/redis-client.ts'
import { type RedisOptions, redisOptions } from './options/options.ts'
import { redisServer } from './server/redis-server.ts'

/** Redis, for any number of services and clients; each has connections of its own. */
export interface RedisTransport extends Transport {
  readonly name: 'redis'
}

const TRAITS: Traits = {
  wildcards: true,
  hearsNobody: true,
  shares: 'engine',
  headers: true,
  channels: true,
  stores: {
    once: true,
    positions: true,
    delays: true,
    wildcards: true,
    browses: true,
    start: ['new', 'all', 'since', 'after']
  }
}

/**
 * Redis: Nest's wire, and between our own ends demand, cancellation, deadlines and channels.
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
  const checked = redisOptions(options)
  return {
    name: 'redis',
    traits: TRAITS,
    server: (context): ServerTransport => redisServer(checked, context),
    client: (context): ClientTransport => redisClient(checked, context)
  }
}
