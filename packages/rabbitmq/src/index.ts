/** What users of RabbitMQ need. */

export type { QueueOptions, RabbitmqOptions } from './options/options.ts'
export { type RabbitmqTransport, rabbitmq } from './rabbitmq.ts'
