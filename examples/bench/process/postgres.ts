/**
 * PostgreSQL, started by the helper of the outbox's tests. Imported from its file, because the package does not
 * export it.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { BENCH_FOLDER } from './folder.ts'

export interface Postgres {
  readonly port: number
  /** Creates a new, empty database and returns its address. Default: a name that no other has. */
  database(name?: string): Promise<string>
  kill(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

const PROGRAM = join(BENCH_FOLDER, '../../packages/outbox/dist/testing/postgres-server.js')

/** Starts a server that ends with this process at the latest. */
export async function startPostgres(): Promise<Postgres> {
  const { PostgresServer } = (await import(pathToFileURL(PROGRAM).href)) as {
    PostgresServer: { start(): Promise<Postgres> }
  }
  return PostgresServer.start()
}
