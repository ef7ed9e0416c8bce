/** A service over Redis. */
import { DialogueServer } from '@elysia-microservices/transport/engine'
import type { ServerContext, ServerTransport } from '@elysia-microservices/transport/kit'
import { RedisServerStore } from '../durable/server-store.ts'
import { RedisEngine } from '../engine.ts'
import type { CheckedOptions } from '../options/options.ts'

/** The queue of services without a name. */
const NAMELESS = 'elysia-microservices'

/** Makes the server of a service. */
export function redisServer(options: CheckedOptions, context: ServerContext): ServerTransport {
  const queue = options.queue ?? context.name
  return new DialogueServer({
    engine: new RedisEngine(options, context.name),
    context,
    queues: { message: queue ?? NAMELESS, event: options.events === 'all' ? undefined : queue },
    store: (dispatcher) => new RedisServerStore(dispatcher, options, context)
  })
}
