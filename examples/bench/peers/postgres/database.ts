/** The common part of all peers with a database: its address, its pool, and a user's transaction. */
import pg from 'pg'

/** The name of the database that the server creates for a measurement. */
export const DATABASE = 'bench'

/** The number of connections of each pool: the same for all peers. */
export const CONNECTIONS = 20

/** Events that are stored before for each second of a measurement: more than any peer handles over a database. */
export const TAKES_AT_MOST = 60_000

/** The number of events that are stored by one statement before a measurement. */
export const AT_ONCE = 1_000

export const addressOf = (host: string, port: number): string =>
  `postgres://postgres:password@${host}:${port}/${DATABASE}`

/** A pool of `pg`, and the table of the user's own rows. */
export async function openPool(address: string): Promise<pg.Pool> {
  const pool = new pg.Pool({ connectionString: address, max: CONNECTIONS })
  await pool.query(
    'create table if not exists orders (id bigint generated always as identity primary key, state text not null)'
  )
  return pool
}

/** Writes one row of the user's, and does the rest in the same transaction. */
export async function inTransaction(
  pool: pg.Pool,
  rest: (client: pg.PoolClient) => Promise<unknown>
): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query("insert into orders (state) values ('placed')")
    await rest(client)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}

/**
 * Calls `store` for parts of `count` events, one after the other. Then PostgreSQL reads how many rows its tables have:
 * without that it would look for jobs in the worst way until it does so by itself.
 */
export async function fillTables(
  pool: pg.Pool,
  count: number,
  store: (part: number) => Promise<unknown>
): Promise<void> {
  await inParts(count, store)
  await pool.query('vacuum analyze')
}

/** Calls `store` for parts of `count` events, one after the other. */
export async function inParts(count: number, store: (part: number) => Promise<unknown>): Promise<void> {
  for (let left = count; left > 0; left -= AT_ONCE) await store(Math.min(left, AT_ONCE))
}
