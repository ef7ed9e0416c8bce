/** What users of Kafka need. */

export { type KafkaTransport, kafka } from './kafka.ts'
export type { KafkaOptions, KafkaSasl } from './options/options.ts'
