/** The queues of the targets over RabbitMQ. */
import type { RmqOptions } from '@nestjs/microservices'

/** What both of Nest's ends say of their server: the same, or RabbitMQ refuses the second. */
export function queueOf(host: string, port: number): NonNullable<RmqOptions['options']> {
  return { urls: [`amqp://${host}:${port}`], queue: 'bench', queueOptions: { durable: false } }
}

/** More events than anybody takes out of a queue in a second. */
export const TAKEN = 60_000
