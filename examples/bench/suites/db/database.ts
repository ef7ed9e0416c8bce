/** The database of a run: one for all measurements. Its server ends with the process that has started it. */
import pg from 'pg'
import { BenchError } from '../../errors.ts'
import { describe } from '../../load/meter.ts'
import { ServerProcess } from '../../process/server-process.ts'

export const HOST = '127.0.0.1'
const USERS = 10_000
/** Milliseconds within which the database must answer. */
const PATIENCE = 5_000

/** The address of the database that `postgres.ts` creates. */
export const addressOf = (host: string, port: number): string =>
  `postgres://postgres:password@${host}:${port}/postgres`

export interface Database {
  readonly address: string
  readonly server: ServerProcess
}

/**
 * @param cpu the core for its server; `null`: any
 * @throws BenchError the server does not start
 */
export async function startDatabase(cpu: number | null): Promise<Database> {
  const server = await ServerProcess.start({
    program: 'suites/db/postgres',
    runtime: 'bun',
    host: HOST,
    port: 0,
    cpu,
    quiet: true
  })
  return { address: addressOf(HOST, server.port), server }
}

/** Creates the table with users. */
export async function addUsers(address: string): Promise<void> {
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  await client.query('CREATE TABLE users (id integer PRIMARY KEY, name text, email text, city text)')
  await client.query(
    `INSERT INTO users SELECT id, 'User ' || id, 'user' || id || '@example.com', 'City ' || id % 100
     FROM generate_series(1, ${USERS}) AS id`
  )
  await client.query('ANALYZE users')
  await client.end()
}

/**
 * @throws BenchError if the database does not answer: the errors of later measurements would blame the measured
 * server
 */
export async function checkDatabase(address: string): Promise<void> {
  const client = new pg.Client({ connectionString: address, connectionTimeoutMillis: PATIENCE })
  // The connection may be lost between two statements.
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('SELECT count(*) FROM users')
  } catch (error) {
    const { host } = new URL(address)
    throw new BenchError(`PostgreSQL does not answer at ${host}, or has no users: ${describe(error)}`)
  } finally {
    await client.end().catch(() => {})
  }
}
