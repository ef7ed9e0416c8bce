/** What carries messages: a RabbitMQ server. */
import { rabbitmq } from '@elysia-microservices/rabbitmq'

const { RABBITMQ_URL = 'amqp://orders:orders@localhost' } = process.env

/** For the service and for its callers. */
export function newTransport() {
  return rabbitmq({ urls: RABBITMQ_URL })
}
