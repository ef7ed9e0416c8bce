/** Both ends of a transport over an engine, from what only the engine knows. */
import type { ServerContext, Traits, Transport } from '../transport.ts'
import type { Carrier, Engine } from './carrier.ts'
import { DialogueClient, type DialogueClientInit } from './client/dialogue-client.ts'
import { DialogueServer, type DialogueServerInit } from './server/dialogue-server.ts'

/** The queue of services without a name. */
const NAMELESS = 'elysia-microservices'

/** The parts from which `engineTransport()` makes a transport. */
export interface EngineParts<Name extends string, Connection extends Carrier> {
  readonly name: Name
  readonly traits: Traits
  /**
   * The name under which the processes of a service share its messages, if its user has set one. Default: the service's
   * name.
   */
  readonly queue?: string | undefined
  /** The receivers of an event: `one` process of the queue, or `all` processes. Default: `one`. */
  readonly events?: 'one' | 'all' | undefined
  /** The queue of a service of that name, where the engine cannot have any text. Default: the name. */
  queueOf?(name: string): string
  /** The engine for one service, or (`undefined`) for one client. */
  engine(service?: ServerContext): Engine<Connection>
  /** Takes stored events. Default: the engine stores none. */
  readonly serverStore?: DialogueServerInit<Connection>['store']
  /** Publishes stored events. Default: the engine stores none. */
  readonly clientStore?: DialogueClientInit<Connection>['store']
}

/** A transport over an engine. */
export function engineTransport<Name extends string, Connection extends Carrier>(
  parts: EngineParts<Name, Connection>
): Transport & { readonly name: Name } {
  const { name, traits, queue } = parts
  return {
    name,
    traits,
    server(context) {
      const own = queue ?? (context.name && (parts.queueOf?.(context.name) ?? context.name))
      return new DialogueServer({
        engine: parts.engine(context),
        context,
        queues: { message: own ?? NAMELESS, event: parts.events === 'all' ? undefined : own },
        service: queue ?? context.name,
        store: parts.serverStore
      })
    },
    client: (context) => new DialogueClient({ engine: parts.engine(), context, store: parts.clientStore })
  }
}
