/** Checks the clients that the user passes to the console. */
import {
  type CallOptions,
  type DurableGroup,
  insideOf,
  type Logger,
  OptionError,
  type Pattern,
  quietLog
} from '@elysia-microservices/transport/kit'

/** The members that all clients have in common, whether typed or not. */
export interface ConsoleClient {
  readonly status: string
  /** Connects the client, if it is not connected. */
  connect(): Promise<void>
  /** Closes the client for good. */
  close(): Promise<void>
}

/** The methods of a client that the console uses. */
export interface CheckedClient extends ConsoleClient {
  request(pattern: Pattern, data?: unknown, options?: CallOptions): Promise<unknown>
  stream(pattern: Pattern, data?: unknown, options?: CallOptions): AsyncIterableIterator<unknown>
  emit(pattern: Pattern, data?: unknown, options?: CallOptions): Promise<void>
  /** Missing for clients of pages. */
  group?(name: string): DurableGroup
}

/** Whether the client's transport stores events. */
export function stores(
  client: CheckedClient
): client is CheckedClient & Required<Pick<CheckedClient, 'group'>> {
  return insideOf(client)?.durable !== undefined
}

/** Clients by the names under which their services are shown. */
export type ConsoleClients = Readonly<Record<string, ConsoleClient>>

/**
 * Returns a function that returns the current clients by their ids; it never throws. If the user's function throws, or
 * returns something else than clients, the last clients stay, and the reason is logged.
 * @throws {OptionError} `services` is invalid
 */
export function readClients(services: unknown, logger: Logger): () => ReadonlyMap<string, CheckedClient> {
  if (typeof services !== 'function') {
    const clients = checkedClients(services)
    return () => clients
  }
  let clients: ReadonlyMap<string, CheckedClient> = new Map()
  return () => {
    try {
      const given: unknown = services()
      // There may be no service at the moment.
      const isNone = typeof given === 'object' && Object.keys(given ?? {}).length === 0
      clients = isNone ? new Map() : checkedClients(given)
    } catch (error) {
      quietLog(logger).error('services', 'The function options.services of the console has failed', error)
    }
    return clients
  }
}

function checkedClients(services: unknown): Map<string, CheckedClient> {
  const entries = typeof services === 'object' && services !== null ? Object.entries(services) : []
  if (entries.length === 0)
    throw OptionError.expected(
      'options.services',
      'an object of clients, such as { orders: client }',
      services
    )
  for (const [id, client] of entries)
    for (const method of ['request', 'stream', 'emit'])
      if (typeof Object(client)[method] !== 'function')
        throw OptionError.expected(`options.services.${id}`, 'a client made by connect()', client)
  return new Map(entries as [string, CheckedClient][])
}
