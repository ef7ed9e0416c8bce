/** Kafka as the dialogue needs it. */
import type { CarrierListener, Engine } from '@elysia-microservices/transport/engine'
import { KafkaConnection } from './connection/kafka-connection.ts'
import type { CheckedOptions } from './options/options.ts'
import { checkHeaders } from './words/headers.ts'
import { addressOf } from './words/names.ts'

/** Kafka for one client or server. */
export class KafkaEngine implements Engine<KafkaConnection> {
  readonly name = 'kafka'
  readonly title = 'Kafka'
  readonly where: string
  readonly checkHeaders = checkHeaders
  readonly #options: CheckedOptions
  readonly #title: string

  /** @param title what its connections are called, unless the user has given a client id */
  constructor(options: CheckedOptions, title = 'client') {
    this.#options = options
    this.where = options.where
    this.#title = title
  }

  open(listener: CarrierListener): Promise<KafkaConnection> {
    return KafkaConnection.open(this.#options, this.#options.clientId ?? this.#title, listener)
  }

  subjectOf(route: string | undefined): string {
    return addressOf(route)
  }
}
