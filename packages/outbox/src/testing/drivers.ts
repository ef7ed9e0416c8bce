/** The drivers, each used as its own users do, behind one interface for the tests. */
import { createRequire } from 'node:module'
import { isOnPush } from '@elysia-microservices/test-support'
import type pg from 'pg'
import type postgres from 'postgres'
import type { DatabaseSql, TransactionSql } from '../database/adapter.ts'

// Loaded when they are used: users have one of them, or neither, and may import every entry of this package.
const load = createRequire(import.meta.url)
const underBun = process.versions.bun !== undefined

export type Driver = 'postgres.js' | 'pg' | "Bun's sql"

/** The operations that the tests need of a driver. */
export interface Driven {
  readonly sql: DatabaseSql
  /** Runs a function in a transaction that is begun in the driver's own way. */
  begin<Result>(run: (transaction: TransactionSql) => Promise<Result>): Promise<Result>
  /** Runs a statement in the given transaction, or without a transaction. */
  query(text: string, values?: string[], transaction?: TransactionSql): Promise<Record<string, unknown>[]>
  /** A connection outside of a transaction, which an outbox must refuse. */
  outside(): Promise<unknown>
  end(): Promise<void>
}

/** The drivers that this runtime tests: all that it has, but on a push each driver is tested by one runtime. */
export const DRIVERS: readonly Driver[] = [
  ...(underBun && isOnPush ? [] : (['postgres.js', 'pg'] as const)),
  ...(underBun ? (["Bun's sql"] as const) : [])
]

/**
 * The driver of this runtime for tests that take long. What differs between drivers is behind `DatabaseSql`, which
 * `outbox.slow.test.ts` tries with all of them.
 */
export const MAIN_DRIVER: Driver = underBun ? "Bun's sql" : 'pg'

/** @param prepare whether the driver prepares statements, which it does by default; `pg` prepares none */
export function drive(driver: Driver, url: string, max = 10, prepare = true): Driven {
  if (driver === 'pg') return drivePg(url, max)
  // Both drivers have the same interface in the parts that are used here.
  const sql = (
    driver === 'postgres.js'
      ? postgresJs()(url, { max, prepare, onnotice() {}, backoff: () => 0.1 })
      : new Bun.SQL(url, { max, prepare })
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

/** Node requires the function itself, and Bun the module around it. */
function postgresJs(): typeof postgres {
  const loaded: unknown = load('postgres')
  return (typeof loaded === 'function' ? loaded : Reflect.get(Object(loaded), 'default')) as typeof postgres
}

function drivePg(url: string, max: number): Driven {
  const { Pool } = load('pg') as typeof pg
  const pool = new Pool({ connectionString: url, max })
  // If the server is killed, the pool reports errors of idle clients, and a client in use reports its own.
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
