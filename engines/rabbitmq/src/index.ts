/** The exports for users of RabbitMQ. */

export type { QueueOptions, RabbitmqNestOptions, RabbitmqOptions } from './options/options.ts'
export { type RabbitmqTransport, rabbitmq } from './rabbitmq.ts'
