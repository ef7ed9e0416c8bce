/** `kafka()` creates the transport, a value that is passed to services and clients. */
import { engineTransport } from '@elysia-microservices/engine'
import {
  STORES_EVERYTHING,
  type StoringTraits,
  type StoringTransport
} from '@elysia-microservices/transport/kit'
import { platformatic } from './connection/platformatic.ts'
import type { Driver } from './driver.ts'
import { KafkaClientStore } from './durable/client-store.ts'
import { KafkaServerStore } from './durable/server-store.ts'
import { kafkaEngine } from './engine.ts'
import { type KafkaOptions, kafkaOptions } from './options/options.ts'
import { nestMessageOf } from './words/nest-message.ts'

/** A Kafka cluster, for any number of services and clients; each of them has its own connections. */
export interface KafkaTransport extends StoringTransport {
  readonly name: 'kafka'
}

const TRAITS: StoringTraits = {
  wildcards: false,
  names: true,
  hearsNobody: false,
  shares: 'engine',
  sharesRequests: false,
  headers: true,
  channels: true,
  answerHeaders: true,
  stores: { ...STORES_EVERYTHING, once: false, wildcards: false }
}

/**
 * Kafka 4: requests, and durable events with keys, retries and dead letters. It exchanges messages with NestJS;
 * between services and clients of this library it also has demand, cancellation, deadlines and channels.
 * @throws {OptionError} an option is invalid
 * @example
 * ```ts
 * import { kafka } from '@elysia-microservices/kafka'
 * import { microservice } from 'elysia-microservices'
 *
 * await microservice({ name: 'orders', transport: kafka({ url: 'localhost:9092' }) }).listen()
 * ```
 */
export function kafka(options: KafkaOptions = {}): KafkaTransport {
  return kafkaBy(platformatic, options)
}

/** Kafka by another driver, for tests. */
export function kafkaBy(driver: Driver, options: KafkaOptions): KafkaTransport {
  const checked = kafkaOptions(options)
  return engineTransport({
    name: 'kafka',
    traits: TRAITS,
    // A queue is a consumer group: in one for all services, each start of a process would halt all of them.
    hasQueuesOfServices: true,
    events: checked.events,
    nestMessageOf,
    engine: (service) =>
      kafkaEngine(driver, checked, service === undefined ? 'client' : (service.name ?? 'service')),
    serverStore: (context) => new KafkaServerStore(context),
    clientStore: (init) => new KafkaClientStore(init)
  })
}
