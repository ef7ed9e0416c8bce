/** What carries messages: a NATS server. */
import { nats } from '@elysia-microservices/nats'

const { NATS_URL = 'nats://localhost:4222' } = process.env

/** For the service and for its callers. */
export function newTransport() {
  return nats({ servers: NATS_URL })
}
