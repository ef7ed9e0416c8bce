/** The transport of all messages, which also stores durable events: a RabbitMQ server. */
import { rabbitmq } from '@elysia-microservices/rabbitmq'

const { RABBITMQ_URL = 'amqp://orders:orders@localhost' } = process.env

/**
 * Makes the transport of a service or of its callers. All of them use the same server, so the name of the service
 * is not needed.
 */
export function newTransport(_service: string) {
  return rabbitmq({ url: RABBITMQ_URL })
}

/** Makes the store of durable events beside the transport. None is needed: RabbitMQ stores them. */
export function newStore() {
  return undefined
}
