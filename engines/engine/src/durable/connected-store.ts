/** Makes a store of events from what an engine, or a database, has of its own. */
import type { EventStore } from '@elysia-microservices/transport/kit'
import { ConnectedStoreClient } from './store-client.ts'
import type { StoreConnection } from './store-engine.ts'
import type { StoreParts } from './store-parts.ts'
import { ConnectedStoreServer } from './store-server.ts'

/** Makes a store. */
export function connectedStore<Connection extends StoreConnection>(
  parts: StoreParts<Connection>
): EventStore {
  const { name, stores } = parts
  return {
    name,
    stores,
    server: (context) => new ConnectedStoreServer(parts, context),
    client: (context) => new ConnectedStoreClient(parts.engine(), parts.clientStore, context)
  }
}
