/** The options of `postgres()`. */
import { checkWindow, STORAGE } from '@elysia-microservices/engine'
import { checkSchema, type DatabaseSql } from '@elysia-microservices/outbox/database'
import {
  type FromTable,
  mustBe,
  mustBeAtLeast,
  mustBeMilliseconds,
  type OptionTable,
  readTable,
  unlessFalse
} from '@elysia-microservices/transport/kit'

/** Where and how events are kept in PostgreSQL. */
export interface PostgresOptions<Sql extends DatabaseSql = DatabaseSql> {
  /** The database: the `sql` of postgres.js or of Bun, or a pool of `pg`. */
  readonly sql: Sql
  /** The PostgreSQL schema of the tables. Default: `elysia_microservices`. */
  readonly schema?: string | undefined
  /** Milliseconds for which events are kept, whether or not they were handled; `false`: for ever. Default: 7 days. */
  readonly maxAge?: number | false | undefined
  /**
   * Bytes of events that are kept; `false`: no limit. When the log is full, publishing rejects with a `NotStoredError`, and
   * stored events stay. What was published within the last second is not counted. Default: `false`.
   */
  readonly maxBytes?: number | false | undefined
  /** Milliseconds within which an event with the same id is not stored again. Default: 120,000. */
  readonly duplicateWindow?: number | undefined
  /**
   * Milliseconds after which the events of a process go to another process, if the process sends nothing. A process
   * sends regularly while its handlers run, so handlers may take longer. Default: 30,000.
   */
  readonly ackWait?: number | undefined
  /**
   * Milliseconds between two looks for events, if PostgreSQL does not tell of them: behind a pooler of transactions it
   * cannot. Default: 1,000.
   */
  readonly pollInterval?: number | undefined
}

/** The table of all options. */
export const POSTGRES_OPTIONS = {
  sql: {
    check: mustBe('the sql of postgres.js or of Bun, or a pool of pg', (sql) => Object(sql) === sql),
    isNeeded: true
  },
  schema: {},
  ...STORAGE,
  maxBytes: { byDefault: false, check: unlessFalse(mustBeAtLeast(1)) },
  pollInterval: { byDefault: 1_000, check: mustBeMilliseconds(10) }
} as const satisfies OptionTable<PostgresOptions>

/** The checked options, with their defaults. */
export interface CheckedOptions
  extends Omit<
    FromTable<PostgresOptions, typeof POSTGRES_OPTIONS>,
    'maxAge' | 'maxBytes' | 'schema' | 'sql'
  > {
  readonly sql: DatabaseSql
  readonly schema: string
  /** 0: for ever. */
  readonly maxAge: number
  /** 0: no limit. */
  readonly maxBytes: number
}

/** @throws {OptionError} an option is invalid */
export function postgresOptions(given: PostgresOptions): CheckedOptions {
  const all = readTable<PostgresOptions, typeof POSTGRES_OPTIONS>('options', given, POSTGRES_OPTIONS)
  checkWindow('options', all)
  return {
    ...all,
    sql: given.sql,
    schema: checkSchema(all.schema),
    maxAge: Number(all.maxAge),
    maxBytes: Number(all.maxBytes)
  }
}
