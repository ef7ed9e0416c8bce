/** The parts of a store that differ between stores. */
import type { ServerContext, ServerTransport, StoreTraits } from '@elysia-microservices/transport/kit'
import type { ClientStore, ClientStoreInit } from './client-store.ts'
import type { ServerStore } from './durable-server.ts'
import type { StoreConnection, StoreEngine } from './store-engine.ts'

/** The parameters of `connectedStore()`: all that differs between stores. */
export interface StoreParts<Connection extends StoreConnection> {
  readonly name: string
  readonly stores: StoreTraits
  /** Shares the store among the processes of one service. Default: each process has its own connection. */
  readonly sharing?: ServerTransport['sharing']
  /** Makes the store's engine for one service, or (`undefined`) for one client. */
  engine(service?: ServerContext): StoreEngine<Connection>
  /** Receives stored events. */
  serverStore(context: ServerContext): ServerStore<Connection>
  /** Publishes and manages events. */
  clientStore(init: ClientStoreInit<Connection>): ClientStore<Connection>
}
