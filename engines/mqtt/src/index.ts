/** The exports for users of MQTT. */
export { fromNest } from './from-nest.ts'

export { type MqttTransport, mqtt } from './mqtt.ts'
export type { MqttOptions, MqttWill } from './options/options.ts'
