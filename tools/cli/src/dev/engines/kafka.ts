import type { Engine } from './engine.ts'
import { probe } from './probe.ts'

/** An ApiVersions request, version 0, without a client id. A broker answers it even before authentication. */
const API_VERSIONS = Uint8Array.of(0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff)

/** Kafka. `dev` finds Kafka but does not start it, because it needs a formatted folder and takes seconds to start. */
export const kafka: Engine = {
  name: 'kafka',
  title: 'Kafka',
  variable: 'KAFKA_BROKERS',
  port: 9092,
  neededBy: ['@elysia-microservices/kafka'],
  install: 'start one (brew install kafka, or docker run -p 9092:9092 apache/kafka)',
  isFoundByPort: true,
  url: (port) => `kafka://127.0.0.1:${port}`,
  // After the length, an answer has the number of its request.
  probe: (host, port) => probe(host, port, API_VERSIONS, (answer) => answer.slice(4, 8) === '\0\0\0\x01'),
  find: () => undefined,
  start: () => Promise.reject(new Error('Kafka is not started by dev'))
}
