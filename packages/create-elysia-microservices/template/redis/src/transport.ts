/** The transport of all messages: a Redis server. */
import { redis } from '@elysia-microservices/redis'

const { REDIS_URL = 'redis://localhost:6379' } = process.env

/** For services and for their callers: all of them meet there. */
export function newTransport(_service: string) {
  return redis({ url: REDIS_URL })
}
