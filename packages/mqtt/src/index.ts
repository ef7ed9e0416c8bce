/** What users of MQTT need. */

export { type MqttTransport, mqtt } from './mqtt.ts'
export type { MqttOptions, MqttWill } from './options/options.ts'
