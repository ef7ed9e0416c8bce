/** `nats()`: the transport as a value that services and clients are given. */
import type { ClientTransport, ServerTransport, Transport } from '@elysia-microservices/transport/kit'
import { NatsClient } from './client.ts'
import { type NatsOptions, natsOptions } from './options.ts'
import { NatsServer } from './server.ts'

/** NATS, for any number of services and clients; each has a connection of its own. */
export interface NatsTransport extends Transport {
  readonly name: 'nats'
}

/**
 * NATS: Nest's wire, and between our own ends demand, cancellation, deadlines and channels.
 * @throws {OptionError} an option is not what it must be
 * @example
 * ```ts
 * import { nats } from '@elysia-microservices/nats'
 * import { microservice } from 'elysia-microservices'
 *
 * await microservice({ name: 'orders', transport: nats({ servers: 'nats://localhost:4222' }) }).listen()
 * ```
 */
export function nats(options: NatsOptions = {}): NatsTransport {
  const checked = natsOptions(options)
  return {
    name: 'nats',
    server: (context): ServerTransport => new NatsServer(checked, context),
    client: (context): ClientTransport => new NatsClient(checked, context)
  }
}
