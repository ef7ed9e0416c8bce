/**
 * Finds out to which driver a user's `sql` belongs. This package imports no driver: users install the one that they
 * use.
 */
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
import { isPrisma, isPrismaClient, type PrismaTransaction, prismaConnection } from './prisma.ts'
import { reachable } from './reachable.ts'
import {
  isTagged,
  isTaggedSql,
  type TaggedConnection,
  type TaggedSql,
  taggedConnection,
  taggedDatabase
} from './tagged.ts'

/**
 * A transaction: the `sql` that postgres.js or Bun passes to the function of `begin`, a client of `pg`, or the client
 * that Prisma passes to the function of `$transaction`.
 */
export type TransactionSql = TaggedConnection | PgClient | PrismaTransaction

/** A database: the `sql` of postgres.js or of Bun, or a pool of `pg`. */
export type DatabaseSql = TaggedSql | PgPool

/** The transaction that a driver passes to the code that runs in it. */
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
 * Returns the caller's own transaction. It is checked at each call, because the same client of `pg` may be in a
 * transaction at one time and in none at another.
 * @throws {OptionError} `sql` is not a transaction
 */
export function transactionOf(sql: TransactionSql): Connection {
  if (isTagged(sql)) {
    if (!isTaggedSql(sql)) return taggedConnection(sql)
    throw new OptionError(
      'sql',
      'sql is not in a transaction, so the event would not be part of a transaction; ' +
        'pass the sql that sql.begin() passes to its function: sql.begin((tx) => outbox(tx).publish(…))'
    )
  }
  if (isPrisma(sql)) {
    if (!isPrismaClient(sql)) return prismaConnection(sql)
    throw new OptionError(
      'sql',
      'sql is a client of Prisma without a transaction; pass the client that prisma.$transaction(async (tx) => …) passes to its function'
    )
  }
  if (!isPg(sql)) throw expected('a transaction', sql)
  if (isPgPool(sql))
    throw new OptionError(
      'sql',
      'sql is a pool, each of whose statements may run on another connection; pass the client of the transaction: ' +
        'const client = await pool.connect()'
    )
  if (isIdle(sql))
    throw new OptionError(
      'sql',
      "sql is a client without an open transaction; begin a transaction first: await client.query('begin')"
    )
  return pgConnection(sql)
}

/** Returns the database of a user's `sql`. @throws {OptionError} `sql` is not a database with a pool of connections */
export function databaseOf(sql: DatabaseSql): Database {
  if (isTagged(sql) && isTaggedSql(sql)) return reachable(taggedDatabase(sql) as Database, sql)
  if (isPg(sql) && isPgPool(sql)) return reachable(pgDatabase(sql) as Database, sql)
  if (isTagged(sql) || isPg(sql))
    throw new OptionError(
      'sql',
      'sql is a single connection, but a database with a pool of connections is needed here: pass the sql of postgres() or of Bun, or a pool of pg'
    )
  throw expected('a database', sql)
}

function expected(what: string, sql: unknown): OptionError {
  return OptionError.expected('sql', `${what} of postgres.js, of pg or of Bun`, sql)
}
