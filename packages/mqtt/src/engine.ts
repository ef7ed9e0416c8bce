/** MQTT as the dialogue needs it. */
import { type CarrierListener, type Engine, newSecret } from '@elysia-microservices/transport/engine'
import { MqttConnection } from './connection/mqtt-connection.ts'
import type { CheckedOptions } from './options/options.ts'
import { checkHeaders, recordOf } from './words/headers.ts'
import { addressOf, LEVELS } from './words/topics.ts'

/** MQTT for one client or server. */
export class MqttEngine implements Engine<MqttConnection> {
  readonly name = 'mqtt'
  readonly title = 'MQTT'
  readonly where: string
  readonly wildcards = LEVELS
  readonly recordOf = recordOf
  readonly checkHeaders = checkHeaders
  readonly #options: CheckedOptions
  readonly #title: string

  /** @param title what its connections are called, unless the user has given a client id */
  constructor(options: CheckedOptions, title = 'client') {
    this.#options = options
    this.where = options.where
    this.#title = title.replace(/[^\w-]+/g, '-')
  }

  open(listener: CarrierListener): Promise<MqttConnection> {
    const id = this.#options.clientId ?? `${this.#title}-${newSecret()}`
    return MqttConnection.open(this.#options, id, listener)
  }

  subjectOf(route: string | undefined): string {
    return addressOf(route)
  }
}
