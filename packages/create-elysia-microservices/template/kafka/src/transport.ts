/** What carries messages: a Kafka cluster. */
import { kafka } from '@elysia-microservices/kafka'

const { KAFKA_BROKERS = 'localhost:9092' } = process.env

/** For the service and for its callers. */
export function newTransport() {
  return kafka({ brokers: KAFKA_BROKERS.split(',') })
}
