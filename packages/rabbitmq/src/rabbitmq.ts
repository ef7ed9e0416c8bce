/** `rabbitmq()`: the transport as a value that services and clients are given. */
import type { ClientTransport, ServerTransport, Traits, Transport } from '@elysia-microservices/transport/kit'
import { rabbitmqClient } from './client/rabbitmq-client.ts'
import { type RabbitmqOptions, rabbitmqOptions } from './options/options.ts'
import { rabbitmqServer } from './server/rabbitmq-server.ts'

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
  return {
    name: 'rabbitmq',
    traits: TRAITS,
    server: (context): ServerTransport => rabbitmqServer(checked, context),
    client: (context): ClientTransport => rabbitmqClient(checked, context)
  }
}
