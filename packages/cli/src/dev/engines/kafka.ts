import type { Engine } from './engine.ts'
import { probe } from './probe.ts'

/** ApiVersions, version 0, without a client id: a broker answers it before anybody has signed in. */
const API_VERSIONS = Uint8Array.of(0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff)

/** Kafka. It is found and not started: it wants a folder that is formatted, and takes seconds. */
export const kafka: Engine = {
  name: 'kafka',
  title: 'Kafka',
  variable: 'KAFKA_BROKERS',
  port: 9092,
  neededBy: ['@elysia-microservices/kafka'],
  install: 'start one (brew install kafka, or docker run -p 9092:9092 apache/kafka)',
  isFoundByPort: true,
  url: (port) => `kafka://127.0.0.1:${port}`,
  // The number of the question follows the length of the answer.
  probe: (host, port) => probe(host, port, API_VERSIONS, (answer) => answer.slice(4, 8) === '\0\0\0\x01'),
  find: () => undefined,
  start: () => Promise.reject(new Error('Kafka is not started by dev'))
}
