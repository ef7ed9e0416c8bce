/** The drivers, each as its users use it, behind one face for the tests. */
import pg from 'pg'
import postgres from 'postgres'
import type { DatabaseSql, TransactionSql } from '../database/adapter.ts'

export type Driver = 'postgres.js' | 'pg' | "Bun's sql"

/** The operations of the tests on a driver. */
export interface Driven {
  readonly sql: DatabaseSql
  /** Runs in a transaction that is begun as the driver's users begin it. */
  begin<Result>(run: (transaction: TransactionSql) => Promise<Result>): Promise<Result>
  /** Runs a statement in a transaction, or by itself. */
  query(text: string, values?: string[], transaction?: TransactionSql): Promise<Record<string, unknown>[]>
  /** A connection outside a transaction, which an outbox must refuse. */
  outside(): Promise<unknown>
  end(): Promise<void>
}

/** Those that this runtime has. */
export const DRIVERS: readonly Driver[] = [
  'postgres.js',
  'pg',
  ...(process.versions.bun === undefined ? [] : (["Bun's sql"] as const))
]

export function drive(driver: Driver, url: string, max = 10): Driven {
  if (driver === 'pg') return drivePg(url, max)
  // The two are one interface for what is used here.
  const sql = (
    driver === 'postgres.js'
      ? postgres(url, { max, onnotice() {}, backoff: () => 0.1 })
      : new Bun.SQL(url, { max })
  ) as postgres.Sql
  return {
    sql,
    begin: <Result>(run: (transaction: TransactionSql) => Promise<Result>) =>
      sql.begin((transaction) => run(transaction)) as Promise<Result>,
    query: async (text, values = [], transaction = sql) => [
      ...(await (transaction as postgres.Sql).unsafe(text, values))
    ],
    outside: async () => sql,
    end: () => sql.end({ timeout: 1 })
  }
}

function drivePg(url: string, max: number): Driven {
  const pool = new pg.Pool({ connectionString: url, max })
  // Errors of clients whose server is killed: the pool reports those of idle clients, the client itself those of one in
  // use.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return {
    sql: pool,
    async begin(run) {
      const client = await pool.connect()
      let isBroken = false
      try {
        await client.query('begin')
        const result = await run(client)
        await client.query('commit')
        return result
      } catch (error) {
        await client.query('rollback').catch(() => {
          isBroken = true
        })
        throw error
      } finally {
        client.release(isBroken)
      }
    },
    async query(text, values, transaction) {
      const { rows } = await ((transaction as pg.PoolClient | undefined) ?? pool).query(text, values)
      return rows
    },
    outside: async () => pool,
    end: () => pool.end()
  }
}
