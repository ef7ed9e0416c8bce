/** Checks the clients that the user passes to the console. */
import {
  type CallOptions,
  type DurableClient,
  OptionError,
  type Pattern,
  type Traits
} from '@elysia-microservices/transport/kit'

/** The members that all clients have in common, whether typed or not. */
export interface GivenClient {
  readonly status: string
  /** The abilities of the client's transport. If missing, each connection leads to one service. */
  readonly traits?: Traits
  /** Connects the client, if it is not connected. */
  connect(): Promise<void>
  /** Closes the client for good. */
  close(): Promise<void>
}

/** The methods of a client that the console uses. */
export interface ConsoleClient extends GivenClient, DurableClient {
  request(pattern: Pattern, data?: unknown, options?: CallOptions): Promise<unknown>
  stream(pattern: Pattern, data?: unknown, options?: CallOptions): AsyncIterableIterator<unknown>
  emit(pattern: Pattern, data?: unknown, options?: CallOptions): Promise<void>
}

/** Clients by the names under which their services are shown. */
export type GivenClients = Readonly<Record<string, GivenClient>>

/** Returns a function that returns the current clients by their ids. @throws {OptionError} `services` is invalid */
export function readClients(services: unknown): () => Map<string, ConsoleClient> {
  if (typeof services === 'function') return () => new Map(Object.entries(services()))
  const clients = checkedClients(services)
  return () => clients
}

function checkedClients(services: unknown): Map<string, ConsoleClient> {
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
  return new Map(entries as [string, ConsoleClient][])
}
