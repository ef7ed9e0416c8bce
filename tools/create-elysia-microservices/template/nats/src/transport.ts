/** The transport of all messages: a NATS server. */
import { nats } from '@elysia-microservices/nats'

const { NATS_URL = 'nats://localhost:4222' } = process.env

/**
 * Makes the transport of a service or of its callers. All of them use the same server, so the name of the service
 * is not needed.
 */
export function newTransport(_service: string) {
  return nats({ url: NATS_URL })
}
