/** `rabbitmq()` creates the transport, a value that is passed to services and clients. */
import { engineTransport } from '@elysia-microservices/engine'
import type { StoringTraits, StoringTransport } from '@elysia-microservices/transport/kit'
import { amqplib } from './connection/amqplib.ts'
import type { Driver } from './driver.ts'
import { RabbitClientStore } from './durable/client-store.ts'
import { RabbitServerStore } from './durable/server-store.ts'
import { rabbitEngine } from './engine.ts'
import { type RabbitmqOptions, rabbitmqOptions } from './options/options.ts'

/** RabbitMQ, for any number of services and clients; each of them has its own connection. */
export interface RabbitmqTransport extends StoringTransport {
  readonly name: 'rabbitmq'
}

const TRAITS: StoringTraits = {
  wildcards: true,
  hearsNobody: true,
  shares: 'engine',
  sharesRequests: false,
  headers: true,
  channels: true,
  answerHeaders: true,
  stores: {
    once: false,
    positions: false,
    delays: true,
    future: false,
    transactions: false,
    wildcards: true,
    browses: false,
    start: ['new']
  }
}

/**
 * RabbitMQ. The transport exchanges messages with NestJS; between services and clients of this library it also has
 * demand, cancellation, deadlines and channels.
 * @throws {OptionError} an option is invalid
 * @example
 * ```ts
 * import { rabbitmq } from '@elysia-microservices/rabbitmq'
 * import { microservice } from 'elysia-microservices'
 *
 * await microservice({ name: 'orders', transport: rabbitmq({ url: 'amqp://localhost' }) }).listen()
 * ```
 */
export function rabbitmq(options: RabbitmqOptions = {}): RabbitmqTransport {
  return rabbitmqBy(amqplib, options)
}

/** RabbitMQ by another driver, for tests. */
export function rabbitmqBy(driver: Driver, options: RabbitmqOptions): RabbitmqTransport {
  const checked = rabbitmqOptions(options)
  return engineTransport({
    name: 'rabbitmq',
    traits: TRAITS,
    // A user of RabbitMQ has rights to the queues of its own service only.
    hasQueuesOfServices: true,
    events: checked.events,
    engine: (service) => rabbitEngine(driver, checked, service?.name),
    serverStore: ({ logger }) => new RabbitServerStore(logger),
    clientStore: (init) => new RabbitClientStore(init)
  })
}
