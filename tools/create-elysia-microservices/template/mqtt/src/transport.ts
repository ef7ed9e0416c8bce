/** The transport of all messages, an MQTT server, and the store of durable events: a file. */
import { mqtt } from '@elysia-microservices/mqtt'
import { sqlite } from '@elysia-microservices/sqlite'

const { MQTT_URL = 'mqtt://localhost:1883', EVENTS_FILE = 'stock.db' } = process.env

/**
 * Makes the transport of a service or of its callers. All of them use the same server, so the name of the service
 * is not needed.
 */
export function newTransport(_service: string) {
  return mqtt({ url: MQTT_URL })
}

/** Makes the store of the durable events of `stock`, because MQTT stores none. One process owns the file. */
export function newStore() {
  return sqlite(EVENTS_FILE)
}
