/** A service over RabbitMQ. */
import { DialogueServer } from '@elysia-microservices/transport/engine'
import type { ServerContext, ServerTransport } from '@elysia-microservices/transport/kit'
import { RabbitServerStore } from '../durable/server-store.ts'
import { RabbitEngine } from '../engine.ts'
import type { CheckedOptions } from '../options/options.ts'

/** What the queues of services without a name have in its place. */
const NAMELESS = 'elysia-microservices'

/** Makes the server of a service. */
export function rabbitmqServer(options: CheckedOptions, context: ServerContext): ServerTransport {
  const { name } = context
  return new DialogueServer({
    engine: new RabbitEngine(options, name),
    context,
    queues: { message: name ?? NAMELESS, event: options.events === 'all' ? undefined : name },
    store: (dispatcher) => new RabbitServerStore(dispatcher, context)
  })
}
