/** The exports for tests of this package: a server inside the process, and the cases that prove it. */

export { mqttjs } from './connection/mqttjs.ts'
export { mqttBy } from './mqtt.ts'
export { MQTT_NEST_OPTIONS } from './options/nest-options.ts'
export * from './testing/driver-cases.ts'
export * from './testing/fake-server.ts'
