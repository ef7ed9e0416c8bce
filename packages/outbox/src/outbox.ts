/**
 * `outbox()`: stores events in the caller's own transaction, so that they are published only if that transaction is
 * committed.
 */
import type { MessageHeaders, Pattern } from '@elysia-microservices/transport'
import { checkNames } from '@elysia-microservices/transport/kit'
import { type TransactionSql, transactionOf } from './database/adapter.ts'
import { checkName, eventRow } from './event.ts'
import { checkSchema, inSchema, type SchemaOptions } from './schema.ts'

/** Options of an outbox's `publish()`. */
export interface OutboxPublishOptions {
  /**
   * The id of the event. If the outbox already has an event with this id and pattern that was not pruned, nothing
   * is stored. Default: a random id.
   */
  readonly id?: string | undefined
  /**
   * Events with the same key are published in the order in which their transactions are committed. Transactions that
   * publish the same key wait for one another, from `publish()` to their end.
   */
  readonly key?: string | undefined
  /** Texts that are sent with the data. If `telemetry()` is in use, the current trace is added to the headers. */
  readonly headers?: MessageHeaders | undefined
}

/** The result of an outbox's `publish()`. */
export interface Written {
  /** The event's id. */
  readonly id: string
  /** Whether the outbox had the event already, so that it was not stored again. */
  readonly duplicate: boolean
}

/** Stores events in the caller's transaction. */
export interface Outbox {
  /**
   * Stores an event in the caller's transaction; the relay publishes the event after the commit. An event that
   * cannot be stored is refused before the database sees it, so the transaction can go on.
   * @throws {OptionError} the pattern, the data or an option cannot be stored; or there is no open transaction
   */
  publish(pattern: Pattern, data: unknown, options?: OutboxPublishOptions): Promise<Written>
}

/**
 * The outbox of the caller's own transaction.
 * @param sql the `sql` that postgres.js or Bun passes to the function of `begin`, or a client of `pg` that has
 * begun a transaction
 * @throws {OptionError} an option is invalid
 * @example
 * ```ts
 * import { outbox } from '@elysia-microservices/outbox'
 * import postgres from 'postgres'
 *
 * const sql = postgres('postgres://localhost/shop')
 * await sql.begin(async (tx) => {
 *   await tx`update orders set state = 'settled' where id = '7'`
 *   await outbox(tx).publish('payments.settled', { order: '7' }, { key: '7' })
 * })
 * ```
 */
export function outbox(sql: TransactionSql, options: SchemaOptions = {}): Outbox {
  checkNames('options', options, ['schema'])
  const statement = inSchema(PUBLISH, checkSchema(options.schema))
  return {
    async publish(pattern, data, options = {}) {
      checkNames('options', options, ['id', 'key', 'headers'])
      const { id = crypto.randomUUID(), key, headers } = options
      checkName('options.id', id)
      if (key !== undefined) checkName('options.key', key)
      const row = eventRow(pattern, data, headers)
      const values = [id, row.pattern, row.data, key ?? null, row.headers]
      const [written] = await transactionOf(sql).query(statement, values)
      return { id, duplicate: written!['position'] === null }
    }
  }
}

const PUBLISH =
  'select "elysia_microservices".publish($1::text, $2::text, $3::text::json, $4::text, $5::text::json) as position'
