/** The transport of all messages, which also stores durable events: a NATS server. */
import { nats } from '@elysia-microservices/nats'

const { NATS_URL = 'nats://localhost:4222' } = process.env

/**
 * Makes the transport of a service or of its callers. All of them use the same server, so the name of the service
 * is not needed.
 */
export function newTransport(_service: string) {
  return nats({ url: NATS_URL })
}

/** Makes the store of durable events beside the transport. None is needed: NATS stores them. */
export function newStore() {
  return undefined
}
