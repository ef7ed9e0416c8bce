/** `rabbitmq()`: the transport as a value that services and clients are given. */
import { engineTransport } from '@elysia-microservices/transport/engine'
import type { Traits, Transport } from '@elysia-microservices/transport/kit'
import { RabbitClientStore } from './durable/client-store.ts'
import { RabbitServerStore } from './durable/server-store.ts'
import { rabbitEngine } from './engine.ts'
import { type RabbitmqOptions, rabbitmqOptions } from './options/options.ts'

/** RabbitMQ, for any number of services and clients; each has a connection of its own. */
export interface RabbitmqTransport extends Transport {
  readonly name: 'rabbitmq'
}

const TRAITS: Traits = {
  wildcards: true,
  hearsNobody: true,
  shares: 'engine',
  headers: true,
  channels: true,
  stores: { once: false, positions: false, delays: true, wildcards: true, browses: false, start: ['new'] }
}

/**
 * RabbitMQ: Nest's wire, and between our own ends demand, cancellation, deadlines and channels.
 * @throws {OptionError} an option is invalid
 * @example
 * ```ts
 * import { rabbitmq } from '@elysia-microservices/rabbitmq'
 * import { microservice } from 'elysia-microservices'
 *
 * await microservice({ name: 'orders', transport: rabbitmq({ urls: 'amqp://localhost' }) }).listen()
 * ```
 */
export function rabbitmq(options: RabbitmqOptions = {}): RabbitmqTransport {
  const checked = rabbitmqOptions(options)
  return engineTransport({
    name: 'rabbitmq',
    traits: TRAITS,
    events: checked.events,
    engine: (service) => rabbitEngine(checked, service?.name),
    serverStore: () => new RabbitServerStore(),
    clientStore: (init) => new RabbitClientStore(init)
  })
}
