/** Finds out which driver a user's `sql` is of. None of them is imported: users install the one that they use. */
import { OptionError } from '@elysia-microservices/transport/kit'
import type { Connection, Database } from './database.ts'
import {
  isIdle,
  isPg,
  isPgPool,
  type PgClient,
  type PgPool,
  pgConnection,
  pgDatabase
} from './node-postgres.ts'
import {
  isTagged,
  isTaggedSql,
  type TaggedConnection,
  type TaggedSql,
  taggedConnection,
  taggedDatabase
} from './tagged.ts'

/** A transaction: the `sql` that postgres.js or Bun gives to the function of `begin`, or a client of `pg`. */
export type TransactionSql = TaggedConnection | PgClient

/** A database: the `sql` of postgres.js or of Bun, or a pool of `pg`. */
export type DatabaseSql = TaggedSql | PgPool

/** The transaction that a driver hands to the code that runs in it. */
export type TransactionOf<Sql> = Sql extends {
  begin(options: string, run: (transaction: infer Transaction) => never): unknown
}
  ? Transaction
  : Sql extends {
        connect(run: (error: never, client: infer Client | undefined, done: never) => void): void
      }
    ? Client
    : PgClient

/**
 * The caller's own transaction. Asked each time, because a client is in a transaction at one time and not at another.
 * @throws {OptionError} it is none
 */
export function transactionOf(sql: TransactionSql): Connection {
  if (isTagged(sql)) {
    if (!isTaggedSql(sql)) return taggedConnection(sql)
    throw new OptionError(
      'sql',
      'sql is not in a transaction, so what it writes would not be part of one; ' +
        'give the one that sql.begin() gives to its function: sql.begin((tx) => outbox(tx).publish(…))'
    )
  }
  if (!isPg(sql)) throw expected('a transaction', sql)
  if (isPgPool(sql))
    throw new OptionError(
      'sql',
      'sql is a pool, each of whose statements may run on another connection; give the client of the transaction: ' +
        'const client = await pool.connect()'
    )
  if (isIdle(sql))
    throw new OptionError(
      'sql',
      "sql is a client without an open transaction; begin one first: await client.query('begin')"
    )
  return pgConnection(sql)
}

/** @throws {OptionError} it is no database with connections to choose from */
export function databaseOf(sql: DatabaseSql): Database {
  if (isTagged(sql) && isTaggedSql(sql)) return taggedDatabase(sql) as Database
  if (isPg(sql) && isPgPool(sql)) return pgDatabase(sql) as Database
  if (isTagged(sql) || isPg(sql))
    throw new OptionError(
      'sql',
      'sql is a single connection, but transactions are begun here: give the sql of postgres() or of Bun, or a pool of pg'
    )
  throw expected('a database', sql)
}

function expected(what: string, sql: unknown): OptionError {
  return OptionError.expected('sql', `${what} of postgres.js, of pg or of Bun`, sql)
}
