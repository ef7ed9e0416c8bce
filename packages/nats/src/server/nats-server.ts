/** A service over NATS. */
import { DialogueServer } from '@elysia-microservices/transport/engine'
import type { ServerContext, ServerTransport } from '@elysia-microservices/transport/kit'
import { nuid } from '@nats-io/transport-node'
import { NatsServerStore } from '../durable/server-store.ts'
import { NatsEngine } from '../engine.ts'
import type { CheckedOptions } from '../options/options.ts'
import { serviceName } from '../words/service-info.ts'

/** The queue group of services without a name. */
const NAMELESS = 'elysia-microservices'

/** Makes the server of a service. */
export function natsServer(options: CheckedOptions, context: ServerContext): ServerTransport {
  const version = /^\d+\.\d+\.\d+/.test(context.version ?? '') ? (context.version as string) : '0.0.0'
  const queue = options.queue ?? context.name?.replace(/\s+/g, '-')
  const id = context.instance ?? nuid.next()
  return new DialogueServer({
    engine: new NatsEngine(options, { name: serviceName(context.name), version, id }),
    context,
    queues: { message: queue ?? NAMELESS, event: options.events === 'all' ? undefined : queue },
    store: (dispatcher) => new NatsServerStore(dispatcher, options, context)
  })
}
