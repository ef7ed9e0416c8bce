/** The exports for users of RabbitMQ. */

export type { QueueOptions, RabbitmqOptions } from './options/options.ts'
export { type RabbitmqTransport, rabbitmq } from './rabbitmq.ts'
