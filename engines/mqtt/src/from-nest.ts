/** The transport that options of NestJS's transport stand for. */
import type { NestEnd } from '@elysia-microservices/transport/nest'
import { mqtt } from './mqtt.ts'
import { mqttFromNest } from './options/nest-options.ts'
import { MQTT_OPTIONS } from './options/options.ts'

/**
 * Makes the transport from the options of NestJS's. As in NestJS, each process gets every event, unless it has a group or a name.
 * @param isNamed whether the service has a name or a group
 * @throws {OptionError} an option has no counterpart here
 */
export function fromNest(given: object | undefined, isNamed = false): NestEnd {
  const { transport: options, ...beside } = mqttFromNest(given, Object.keys(MQTT_OPTIONS))
  const events = isNamed || beside.group !== undefined ? {} : { events: 'every-process' as const }
  return { ...beside, transport: mqtt({ ...events, ...options }) }
}
