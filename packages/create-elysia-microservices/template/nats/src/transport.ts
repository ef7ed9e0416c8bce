/** The transport of all messages: a NATS server. */
import { nats } from '@elysia-microservices/nats'

const { NATS_URL = 'nats://localhost:4222' } = process.env

/** For services and for their callers: all of them meet there. */
export function newTransport(_service: string) {
  return nats({ servers: NATS_URL })
}
