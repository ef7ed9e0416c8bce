/** A client over Redis. */
import { DialogueClient } from '@elysia-microservices/transport/engine'
import type { ClientContext, ClientTransport } from '@elysia-microservices/transport/kit'
import { RedisClientStore } from '../durable/client-store.ts'
import { RedisEngine } from '../engine.ts'
import type { CheckedOptions } from '../options/options.ts'
import { channelOfCall } from '../words/channels.ts'

/** Makes a client. */
export function redisClient(options: CheckedOptions, context: ClientContext): ClientTransport {
  return new DialogueClient({
    engine: new RedisEngine(options),
    context,
    addressOf: channelOfCall,
    store: (connect) => new RedisClientStore(options, context, connect)
  })
}
