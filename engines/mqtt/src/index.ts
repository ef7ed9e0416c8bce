/** The exports for users of MQTT. */

export { type MqttTransport, mqtt } from './mqtt.ts'
export type { MqttOptions, MqttWill } from './options/options.ts'
