/** The transport of all messages: an MQTT server. */
import { mqtt } from '@elysia-microservices/mqtt'

const { MQTT_URL = 'mqtt://localhost:1883' } = process.env

/** For services and for their callers: all of them meet there. */
export function newTransport(_service: string) {
  return mqtt({ url: MQTT_URL })
}
