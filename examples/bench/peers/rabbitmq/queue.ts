/** The queues of the targets over RabbitMQ. */
import type { RmqOptions } from '@nestjs/microservices'

/** The options of the queue for NestJS's service and client: RabbitMQ refuses a second declaration that differs. */
export function queueOf(host: string, port: number): NonNullable<RmqOptions['options']> {
  return { urls: [`amqp://${host}:${port}`], queue: 'bench', queueOptions: { durable: false } }
}

/** More events than any peer takes from a queue per second. */
export const TAKEN = 60_000
