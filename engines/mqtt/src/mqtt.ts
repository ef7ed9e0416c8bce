/** `mqtt()` creates the transport, a value that is passed to services and clients. */
import { engineTransport } from '@elysia-microservices/engine'
import type { Traits, Transport } from '@elysia-microservices/transport/kit'
import { mqttjs } from './connection/mqttjs.ts'
import type { Driver } from './driver.ts'
import { mqttEngine } from './engine.ts'
import { type MqttOptions, mqttOptions } from './options/options.ts'

/** An MQTT server, for any number of services and clients; each of them has its own connection. */
export interface MqttTransport extends Transport {
  readonly name: 'mqtt'
}

const TRAITS: Traits = {
  wildcards: false,
  levels: true,
  hearsNobody: true,
  shares: 'engine',
  headers: true,
  channels: true,
  answerHeaders: true
}

/**
 * MQTT 5. The transport exchanges messages with NestJS; between services and clients of this library it also has
 * demand, cancellation, deadlines and channels.
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
  return mqttBy(mqttjs, options)
}

/** MQTT by another driver, for tests. */
export function mqttBy(driver: Driver, options: MqttOptions): MqttTransport {
  const checked = mqttOptions(options)
  return engineTransport({
    name: 'mqtt',
    traits: TRAITS,
    events: checked.events,
    engine: (service) =>
      mqttEngine(driver, checked, service === undefined ? 'client' : (service.name ?? 'service'))
  })
}
