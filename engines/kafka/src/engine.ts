/** Kafka as an engine: the functions and rules that the shared code of all engines needs. */
import type { Engine } from '@elysia-microservices/engine'
import { KafkaConnection } from './connection/kafka-connection.ts'
import type { Driver } from './driver.ts'
import type { CheckedOptions } from './options/options.ts'
import { whyNoHeader } from './words/headers.ts'
import { ADDRESSING } from './words/names.ts'

/**
 * Kafka for one client or one service. @param title the name of its connections, unless the option `clientName` is set
 */
export function kafkaEngine(driver: Driver, options: CheckedOptions, title: string): Engine<KafkaConnection> {
  return {
    ...ADDRESSING,
    name: 'kafka',
    inboxOption: 'inboxPrefix',
    where: options.where,
    whyNoHeader,
    open: (listener) => KafkaConnection.open(driver, options, options.clientName ?? title, listener)
  }
}
