/** Kafka as the dialogue needs it. */
import type { Engine } from '@elysia-microservices/transport/engine'
import { KafkaConnection } from './connection/kafka-connection.ts'
import type { CheckedOptions } from './options/options.ts'
import { whyNoHeader } from './words/headers.ts'
import { ADDRESSING } from './words/names.ts'

/** Kafka for one client or service. @param title what its connections are called, unless the user has given a client id */
export function kafkaEngine(options: CheckedOptions, title: string): Engine<KafkaConnection> {
  return {
    ...ADDRESSING,
    name: 'kafka',
    where: options.where,
    whyNoHeader,
    open: (listener) => KafkaConnection.open(options, options.clientId ?? title, listener)
  }
}
