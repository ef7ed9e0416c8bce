/** The exports for tests of this package: a server inside the process, and the cases that prove it. */

export { ioredis } from './connection/ioredis.ts'
export { REDIS_NEST_OPTIONS } from './options/nest-options.ts'
export { redisBy } from './redis.ts'
export * from './testing/driver-cases.ts'
export * from './testing/fake-server.ts'
