/** The exports for users of Redis. */
export { fromNest } from './from-nest.ts'

export type { RedisDurableOptions } from './options/durable-options.ts'
export type { RedisOptions } from './options/options.ts'
export { type RedisTransport, redis } from './redis.ts'
