/** The exports for users of RabbitMQ. */
export { fromNest } from './from-nest.ts'

export type { QueueOptions, RabbitmqNestOptions, RabbitmqOptions } from './options/options.ts'
export { type RabbitmqTransport, rabbitmq } from './rabbitmq.ts'
