/** `kafka()`: the transport as a value that services and clients are given. */
import { DialogueClient, DialogueServer } from '@elysia-microservices/transport/engine'
import type { Traits, Transport } from '@elysia-microservices/transport/kit'
import { KafkaClientStore } from './durable/client-store.ts'
import { KafkaServerStore } from './durable/server-store.ts'
import { KafkaEngine } from './engine.ts'
import { type KafkaOptions, kafkaOptions } from './options/options.ts'
import { addressOf } from './words/names.ts'

/** A Kafka cluster, for any number of services and clients; each has connections of its own. */
export interface KafkaTransport extends Transport {
  readonly name: 'kafka'
}

const TRAITS: Traits = {
  wildcards: false,
  names: true,
  hearsNobody: false,
  shares: 'engine',
  headers: true,
  channels: true,
  stores: {
    once: false,
    positions: true,
    delays: true,
    wildcards: false,
    browses: true,
    start: ['new', 'all', 'since', 'after']
  }
}

/** The group of services without a name. */
const NAMELESS = 'elysia-microservices'

/**
 * Kafka 4: durable events by key, retries and dead letters; Nest's wire, and between our own ends demand, cancellation,
 * deadlines and channels.
 * @throws {OptionError} an option is invalid
 * @example
 * ```ts
 * import { kafka } from '@elysia-microservices/kafka'
 * import { microservice } from 'elysia-microservices'
 *
 * await microservice({ name: 'orders', transport: kafka({ brokers: ['localhost:9092'] }) }).listen()
 * ```
 */
export function kafka(options: KafkaOptions = {}): KafkaTransport {
  const checked = kafkaOptions(options)
  return {
    name: 'kafka',
    traits: TRAITS,
    server(context) {
      const queue = checked.group ?? context.name
      return new DialogueServer({
        engine: new KafkaEngine(checked, context.name ?? 'service'),
        context,
        queues: { message: queue ?? NAMELESS, event: checked.events === 'all' ? undefined : queue },
        store: (dispatcher) => new KafkaServerStore(dispatcher, checked, context)
      })
    },
    client: (context) =>
      new DialogueClient({
        engine: new KafkaEngine(checked),
        context,
        addressOf,
        store: (connect) => new KafkaClientStore(context, connect)
      })
  }
}
