/** A real PostgreSQL server for tests. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rootFolder } from '../workspace.ts'

/** A server. */
export interface Postgres {
  /** Makes an empty database and gives its address. */
  database(): Promise<string>
  stop(): Promise<void>
}

/** Starts what the tests of packages/outbox start; nobody else needs it, so no entry of the package has it. */
export async function startPostgres(): Promise<Postgres> {
  const file = pathToFileURL(join(rootFolder, 'packages/outbox/dist/testing/postgres-server.js')).href
  const { PostgresServer } = (await import(file)) as { PostgresServer: { start(): Promise<Postgres> } }
  return PostgresServer.start()
}
