/** The transport of all messages, which also stores durable events: a Kafka cluster. */
import { kafka } from '@elysia-microservices/kafka'

const { KAFKA_BROKERS = 'localhost:9092' } = process.env

/**
 * Makes the transport of a service or of its callers. All of them use the same cluster, so the name of the service
 * is not needed.
 */
export function newTransport(_service: string) {
  return kafka({ url: KAFKA_BROKERS.split(',') })
}

/** Makes the store of durable events beside the transport. None is needed: Kafka stores them. */
export function newStore() {
  return undefined
}
