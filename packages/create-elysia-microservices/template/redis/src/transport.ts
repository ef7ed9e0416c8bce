/** What carries messages: a Redis server. */
import { redis } from '@elysia-microservices/redis'

const { REDIS_URL = 'redis://localhost:6379' } = process.env

/** For the service and for its callers. */
export function newTransport() {
  return redis({ url: REDIS_URL })
}
