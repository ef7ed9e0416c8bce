/** The queues of the targets over RabbitMQ. */
import type { RmqOptions } from '@nestjs/microservices'

/** The queue, as both of Nest's ends declare it: RabbitMQ refuses a second declaration that differs. */
export function queueOf(host: string, port: number): NonNullable<RmqOptions['options']> {
  return { urls: [`amqp://${host}:${port}`], queue: 'bench', queueOptions: { durable: false } }
}

/** More events than anybody takes out of a queue in a second. */
export const TAKEN = 60_000
