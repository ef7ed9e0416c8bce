/** `mqtt()`: the transport as a value that services and clients are given. */
import { DialogueClient, DialogueServer } from '@elysia-microservices/transport/engine'
import type { Traits, Transport } from '@elysia-microservices/transport/kit'
import { MqttEngine } from './engine.ts'
import { type MqttOptions, mqttOptions } from './options/options.ts'
import { addressOfCall } from './words/topics.ts'

/** An MQTT server, for any number of services and clients; each has a connection of its own. */
export interface MqttTransport extends Transport {
  readonly name: 'mqtt'
}

const TRAITS: Traits = {
  wildcards: false,
  levels: true,
  hearsNobody: true,
  shares: 'engine',
  headers: true,
  channels: true
}

/** The group of services without a name. */
const NAMELESS = 'elysia-microservices'

/**
 * MQTT 5: Nest's wire, and between our own ends demand, cancellation, deadlines and channels.
 * @throws {OptionError} an option is invalid
 * @example
 * ```ts
 * import { mqtt } from '@elysia-microservices/mqtt'
 * import { microservice } from 'elysia-microservices'
 *
 * await microservice({ name: 'orders', transport: mqtt({ url: 'mqtt://localhost:1883' }) }).listen()
 * ```
 */
export function mqtt(options: MqttOptions = {}): MqttTransport {
  const checked = mqttOptions(options)
  return {
    name: 'mqtt',
    traits: TRAITS,
    server(context) {
      const queue = checked.queue ?? context.name
      return new DialogueServer({
        engine: new MqttEngine(checked, context.name ?? 'service'),
        context,
        queues: { message: queue ?? NAMELESS, event: checked.events === 'all' ? undefined : queue }
      })
    },
    client: (context) =>
      new DialogueClient({ engine: new MqttEngine(checked), context, addressOf: addressOfCall })
  }
}
