/** PostgreSQL, as the tests of the outbox start it; nobody else needs that, so no entry of the package has it. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { BENCH_FOLDER } from './folder.ts'

export interface Postgres {
  readonly port: number
  /** The address of a new, empty database. */
  database(): Promise<string>
  kill(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

const PROGRAM = join(BENCH_FOLDER, '../../packages/outbox/dist/testing/postgres-server.js')

/** A server that ends with this process at the latest. */
export async function startPostgres(): Promise<Postgres> {
  const { PostgresServer } = (await import(pathToFileURL(PROGRAM).href)) as {
    PostgresServer: { start(): Promise<Postgres> }
  }
  return PostgresServer.start()
}
