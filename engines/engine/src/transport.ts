/** Makes both ends of a transport over an engine. */
import type {
  EventStore,
  ServerContext,
  StoringTraits,
  Traits,
  Transport
} from '@elysia-microservices/transport/kit'
import type { Carrier, Engine } from './carrier.ts'
import { DialogueClient } from './client/dialogue-client.ts'
import { connectedStore } from './durable/connected-store.ts'
import type { StoreParts } from './durable/store-parts.ts'
import { DialogueServer } from './server/dialogue-server.ts'

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
  /** Reads data that are a whole message for Nest's client. Default: data are only data. */
  nestMessageOf?: Transport['nestMessageOf']
  /** Makes the engine for one service, or (`undefined`) for one client. */
  engine(service?: ServerContext): Engine<Connection>
}

/** The parts of an engine that stores events, too. */
export interface StoringEngineParts<
  Name extends string,
  Abilities extends StoringTraits,
  Connection extends Carrier
> extends EngineParts<Name, Abilities, Connection>,
    Pick<StoreParts<Connection>, 'serverStore' | 'clientStore'> {}

/** A transport over an engine. */
type EngineTransport<Name extends string, Abilities extends Traits> = Transport & {
  readonly name: Name
  readonly traits: Abilities
}

/** Makes a transport over an engine. */
export function engineTransport<
  Name extends string,
  Abilities extends StoringTraits,
  Connection extends Carrier
>(
  parts: StoringEngineParts<Name, Abilities, Connection>
): EngineTransport<Name, Abilities> & { readonly store: EventStore }
export function engineTransport<Name extends string, Abilities extends Traits, Connection extends Carrier>(
  parts: EngineParts<Name, Abilities, Connection>
): EngineTransport<Name, Abilities>
export function engineTransport<Name extends string, Abilities extends Traits, Connection extends Carrier>(
  parts: EngineParts<Name, Abilities, Connection> &
    Partial<Pick<StoreParts<Connection>, 'serverStore' | 'clientStore'>>
): EngineTransport<Name, Abilities> & { readonly store?: EventStore } {
  const { name, traits, serverStore, clientStore, nestMessageOf } = parts
  const { stores } = traits
  const queueOf = (group: string | undefined) => group && (parts.queueOf?.(group) ?? group)
  return {
    name,
    traits,
    ...(nestMessageOf && { nestMessageOf }),
    ...(stores !== undefined &&
      serverStore !== undefined &&
      clientStore !== undefined && {
        store: connectedStore({ name, stores, engine: parts.engine, serverStore, clientStore })
      }),
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
        store: serverStore
      })
    },
    client: (context) => new DialogueClient({ engine: parts.engine(), context, store: clientStore })
  }
}
