/** `nats()` creates the transport, a value that is passed to services and clients. */
import { engineTransport } from '@elysia-microservices/engine'
import {
  STORES_EVERYTHING,
  type StoringTraits,
  type StoringTransport
} from '@elysia-microservices/transport/kit'
import { natsIo } from './connection/nats-io.ts'
import type { Driver } from './driver.ts'
import { NatsClientStore } from './durable/client-store.ts'
import { NatsServerStore } from './durable/server-store.ts'
import { natsEngine } from './engine.ts'
import { type NatsOptions, natsOptions } from './options/options.ts'
import { queueOf } from './words/subjects.ts'

/** NATS, for any number of services and clients; each of them has its own connection. */
export interface NatsTransport extends StoringTransport {
  readonly name: 'nats'
}

const TRAITS: StoringTraits = {
  wildcards: true,
  hearsNobody: true,
  shares: 'engine',
  headers: true,
  channels: true,
  answerHeaders: true,
  stores: { ...STORES_EVERYTHING, future: true, backlog: 'waiting' }
}

/**
 * NATS. The transport exchanges messages with NestJS; between services and clients of this library it also has
 * demand, cancellation, deadlines and channels.
 * @throws {OptionError} an option is invalid
 * @example
 * ```ts
 * import { nats } from '@elysia-microservices/nats'
 * import { microservice } from 'elysia-microservices'
 *
 * await microservice({ name: 'orders', transport: nats({ url: 'nats://localhost:4222' }) }).listen()
 * ```
 */
export function nats(options: NatsOptions = {}): NatsTransport {
  return natsBy(natsIo, options)
}

/** NATS by another driver, for tests. */
export function natsBy(driver: Driver, options: NatsOptions): NatsTransport {
  const checked = natsOptions(options)
  return engineTransport({
    name: 'nats',
    traits: TRAITS,
    events: checked.events,
    queueOf,
    engine: (service) => natsEngine(driver, checked, service),
    serverStore: (context) => new NatsServerStore(checked, context),
    clientStore: (init) => new NatsClientStore(checked, init)
  })
}
