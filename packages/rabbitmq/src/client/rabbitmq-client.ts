/** A client over RabbitMQ. */
import { DialogueClient } from '@elysia-microservices/transport/engine'
import type { ClientContext, ClientTransport } from '@elysia-microservices/transport/kit'
import { RabbitClientStore } from '../durable/client-store.ts'
import { RabbitEngine } from '../engine.ts'
import type { CheckedOptions } from '../options/options.ts'
import { addressOfCall } from '../words/names.ts'

/** Makes a client. */
export function rabbitmqClient(options: CheckedOptions, context: ClientContext): ClientTransport {
  return new DialogueClient({
    engine: new RabbitEngine(options),
    context,
    addressOf: addressOfCall,
    store: (connect) => new RabbitClientStore(context, connect)
  })
}
