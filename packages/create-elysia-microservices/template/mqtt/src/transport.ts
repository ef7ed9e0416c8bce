/** What carries messages: an MQTT server. */
import { mqtt } from '@elysia-microservices/mqtt'

const { MQTT_URL = 'mqtt://localhost:1883' } = process.env

/** For the service and for its callers. */
export function newTransport() {
  return mqtt({ url: MQTT_URL })
}
