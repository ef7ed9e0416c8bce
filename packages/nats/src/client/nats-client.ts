/** A client over NATS. */
import { DialogueClient } from '@elysia-microservices/transport/engine'
import type { ClientContext, ClientTransport } from '@elysia-microservices/transport/kit'
import { NatsClientStore } from '../durable/client-store.ts'
import { NatsEngine } from '../engine.ts'
import type { CheckedOptions } from '../options/options.ts'
import { subjectOfCall } from '../words/subjects.ts'

/** Makes a client. */
export function natsClient(options: CheckedOptions, context: ClientContext): ClientTransport {
  return new DialogueClient({
    engine: new NatsEngine(options),
    context,
    addressOf: subjectOfCall,
    store: (connect) => new NatsClientStore(options, context, connect)
  })
}
