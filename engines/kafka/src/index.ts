/** The exports for users of Kafka. */

export { type KafkaTransport, kafka } from './kafka.ts'
export type { KafkaOptions, KafkaSasl } from './options/options.ts'
