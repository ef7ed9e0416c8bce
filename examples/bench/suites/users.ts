/** The users in the database: one query and one pool for all servers that can use the same driver. */
import pg from 'pg'
import type { User } from './work.ts'

/** The number of connections, and the milliseconds that a query waits for a connection before it fails. */
export const POOL = { max: 20, connectionTimeoutMillis: 2_000 }

const COLUMNS = 'id, name, email, city'
export const QUERY = `SELECT ${COLUMNS} FROM users ORDER BY id LIMIT $1`
/** The same query with 20 ms of other work in the database before it. */
export const SLOW_QUERY = `WITH pause AS MATERIALIZED (SELECT pg_sleep(0.02)) SELECT ${COLUMNS} FROM pause, users ORDER BY id LIMIT $1`

/** @param database the address of the database */
export function openUsers(database: string, slow: boolean): (limit: number) => Promise<readonly User[]> {
  const pool = new pg.Pool({ connectionString: database, ...POOL })
  // A connection that is lost while it is idle is replaced for the next query.
  pool.on('error', () => {})
  const text = slow ? SLOW_QUERY : QUERY
  const name = slow ? 'slow-users' : 'users'
  return async (limit) => (await pool.query<User>({ name, text, values: [limit] })).rows
}
