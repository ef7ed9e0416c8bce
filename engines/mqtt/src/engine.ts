/** MQTT as an engine: the functions and rules that the shared code of all engines needs. */
import { type Engine, newSecret } from '@elysia-microservices/engine'
import { MqttConnection } from './connection/mqtt-connection.ts'
import type { Driver } from './driver.ts'
import type { CheckedOptions } from './options/options.ts'
import { recordOf, whyNoHeader } from './words/headers.ts'
import { ADDRESSING } from './words/topics.ts'

/**
 * MQTT for one client or one service. @param title the beginning of its client id, unless the option `clientId` is
 * set
 */
export function mqttEngine(driver: Driver, options: CheckedOptions, title: string): Engine<MqttConnection> {
  const name = title.replace(/[^\w-]+/g, '-')
  return {
    ...ADDRESSING,
    name: 'mqtt',
    inboxOption: 'inboxPrefix',
    where: options.where,
    recordOf,
    whyNoHeader,
    open: (listener) =>
      MqttConnection.open(driver, options, options.clientId ?? `${name}-${newSecret()}`, listener)
  }
}
