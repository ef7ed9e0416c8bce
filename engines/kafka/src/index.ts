/** The exports for users of Kafka. */
export { fromNest } from './from-nest.ts'

export { type KafkaTransport, kafka } from './kafka.ts'
export type { KafkaOptions, KafkaSasl } from './options/options.ts'
export type { CreatePartitioner } from './words/partitioning.ts'
