/** RabbitMQ as the dialogue needs it. */
import type { CarrierListener, Engine } from '@elysia-microservices/transport/engine'
import { RabbitConnection } from './connection/rabbit-connection.ts'
import type { CheckedOptions } from './options/options.ts'
import { checkHeaders, recordOf } from './words/headers.ts'
import { addressOf } from './words/names.ts'

/** RabbitMQ for one client or server. */
export class RabbitEngine implements Engine<RabbitConnection> {
  readonly name = 'rabbitmq'
  readonly title = 'RabbitMQ'
  readonly where: string
  readonly recordOf = recordOf
  readonly checkHeaders = checkHeaders
  readonly #options: CheckedOptions
  readonly #connectionName: string | undefined

  /** @param connectionName as RabbitMQ's tools show it, unless the user has given one */
  constructor(options: CheckedOptions, connectionName?: string) {
    this.#options = options
    this.where = options.where
    this.#connectionName = options.connectionName ?? connectionName
  }

  open(listener: CarrierListener): Promise<RabbitConnection> {
    return RabbitConnection.open(this.#options, this.#connectionName, listener)
  }

  subjectOf(route: string | undefined): string {
    return addressOf(route)
  }
}
