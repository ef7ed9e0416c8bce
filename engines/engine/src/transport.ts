/** Makes both ends of a transport over an engine. */
import type { ServerContext, Traits, Transport } from '@elysia-microservices/transport/kit'
import type { Carrier, Engine } from './carrier.ts'
import { DialogueClient, type DialogueClientInit } from './client/dialogue-client.ts'
import { DialogueServer, type DialogueServerInit } from './server/dialogue-server.ts'

/** The queue of requests, if the user has named no group. */
const ALL_SERVICES = 'elysia-microservices'

/** The parameters of `engineTransport()`: all that differs between engines. */
export interface EngineParts<Name extends string, Abilities extends Traits, Connection extends Carrier> {
  readonly name: Name
  readonly traits: Abilities
  /** The processes of the group that get an event that is not durable. Default: `'one-process'`. */
  readonly events?: 'one-process' | 'every-process' | undefined
  /**
   * Each service has its own queue of requests. Default: false; all services share one, because a request is to run
   * once, whatever the names of the services with its pattern are.
   */
  readonly hasQueuesOfServices?: boolean | undefined
  /**
   * Makes the queue's name from the name of the service or its group, if the engine does not allow every text. Default:
   * the same name.
   */
  queueOf?(group: string): string
  /** Makes the engine for one service, or (`undefined`) for one client. */
  engine(service?: ServerContext): Engine<Connection>
  /** Receives stored events. Default: the engine stores none. */
  readonly serverStore?: DialogueServerInit<Connection>['store']
  /** Publishes stored events. Default: the engine stores none. */
  readonly clientStore?: DialogueClientInit<Connection>['store']
}

/** Makes a transport over an engine. */
export function engineTransport<Name extends string, Abilities extends Traits, Connection extends Carrier>(
  parts: EngineParts<Name, Abilities, Connection>
): Transport & { readonly name: Name; readonly traits: Abilities } {
  const { name, traits } = parts
  const queueOf = (group: string | undefined) => group && (parts.queueOf?.(group) ?? group)
  return {
    name,
    traits,
    server(context) {
      const { group = context.name } = context
      const own = queueOf(group)
      return new DialogueServer({
        engine: parts.engine(context),
        context,
        queues: {
          message: (parts.hasQueuesOfServices === true ? own : queueOf(context.group)) ?? ALL_SERVICES,
          event: parts.events === 'every-process' ? undefined : own
        },
        service: group,
        toEvery: parts.events === 'every-process',
        store: parts.serverStore
      })
    },
    client: (context) => new DialogueClient({ engine: parts.engine(), context, store: parts.clientStore })
  }
}
