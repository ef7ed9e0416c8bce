/** This project's durable events over RabbitMQ's quorum queues. */
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { storedEvents } from '../durable/ours.ts'
import type { OpenEchoClient } from '../echo-client.ts'
import { TAKEN } from './queue.ts'

export const openEchoClient: OpenEchoClient = (host, port, plan) =>
  storedEvents({
    plan,
    transport: () => rabbitmq({ url: `amqp://${host}:${port}` }),
    start: 'new',
    takesAtMost: TAKEN
  })
