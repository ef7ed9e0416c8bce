/** The transport of all messages: an MQTT server. */
import { mqtt } from '@elysia-microservices/mqtt'

const { MQTT_URL = 'mqtt://localhost:1883' } = process.env

/**
 * Makes the transport of a service or of its callers. All of them use the same server, so the name of the service
 * is not needed.
 */
export function newTransport(_service: string) {
  return mqtt({ url: MQTT_URL })
}
