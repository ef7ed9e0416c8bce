/** This project's client over RabbitMQ. */
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { connect } from 'elysia-microservices/client'
import type { OpenEchoClient } from '../echo-client.ts'
import { askThrough, silent } from '../elysia/ask-through.ts'

export const openEchoClient: OpenEchoClient = async (host, port, plan) => {
  const client = connect({ transport: rabbitmq({ url: `amqp://${host}:${port}` }), logger: silent })
  await client.connect()
  return askThrough(client, plan)
}
