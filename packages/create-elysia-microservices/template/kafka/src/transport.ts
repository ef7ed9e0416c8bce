/** The transport of all messages: a Kafka cluster. */
import { kafka } from '@elysia-microservices/kafka'

const { KAFKA_BROKERS = 'localhost:9092' } = process.env

/** For services and for their callers: all of them meet there. */
export function newTransport(_service: string) {
  return kafka({ brokers: KAFKA_BROKERS.split(',') })
}
