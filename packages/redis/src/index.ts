/** What users of Redis need. */

export type { RedisDurableOptions } from './options/durable-options.ts'
export type { RedisOptions } from './options/options.ts'
export { type RedisTransport, redis } from './redis.ts'
