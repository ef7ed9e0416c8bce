/** A real PostgreSQL server for tests. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rootFolder } from '../workspace.ts'

/** A running PostgreSQL server. */
export interface Postgres {
  /** Creates an empty database and returns its address. */
  database(): Promise<string>
  stop(): Promise<void>
}

/**
 * Starts the PostgreSQL helper of packages/outbox. Imported from the built file, because the package does not export
 * it.
 */
export async function startPostgres(): Promise<Postgres> {
  const file = pathToFileURL(join(rootFolder, 'packages/outbox/dist/testing/postgres-server.js')).href
  const { PostgresServer } = (await import(file)) as { PostgresServer: { start(): Promise<Postgres> } }
  return PostgresServer.start()
}
