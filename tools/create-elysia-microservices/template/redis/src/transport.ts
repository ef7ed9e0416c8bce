/** The transport of all messages, which also stores durable events: a Redis server. */
import { redis } from '@elysia-microservices/redis'

const { REDIS_URL = 'redis://localhost:6379' } = process.env

/**
 * Makes the transport of a service or of its callers. All of them use the same server, so the name of the service
 * is not needed.
 */
export function newTransport(_service: string) {
  return redis({ url: REDIS_URL })
}

/** Makes the store of durable events beside the transport. None is needed: Redis stores them. */
export function newStore() {
  return undefined
}
