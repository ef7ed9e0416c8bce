/** The transport of all messages: a RabbitMQ server. */
import { rabbitmq } from '@elysia-microservices/rabbitmq'

const { RABBITMQ_URL = 'amqp://orders:orders@localhost' } = process.env

/** For services and for their callers: all of them meet there. */
export function newTransport(_service: string) {
  return rabbitmq({ urls: RABBITMQ_URL })
}
