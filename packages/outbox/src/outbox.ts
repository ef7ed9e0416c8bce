/** `outbox()`: events that are published if the caller's own transaction is committed, and only then. */
import type { Headers, Pattern } from '@elysia-microservices/transport'
import { checkNames } from '@elysia-microservices/transport/kit'
import { type TransactionSql, transactionOf } from './database/adapter.ts'
import { checkText, eventRow } from './event.ts'
import { checkSchema, inSchema, type SchemaOptions } from './schema.ts'

/** Options of `publish()` of an outbox. */
export interface OutboxPublishOptions {
  /**
   * The identity of the event: with an id and a pattern that are in the outbox already, and not yet pruned, nothing is
   * written. Default: a random one.
   */
  readonly id?: string | undefined
  /**
   * Events with the same key are published in the order in which their transactions are committed. Transactions that
   * publish the same key wait for one another, from `publish()` to their end.
   */
  readonly key?: string | undefined
  /** Text that travels beside the data. The current trace is added to it, if `telemetry()` is in use. */
  readonly headers?: Headers | undefined
}

/** The result of `publish()` of an outbox. */
export interface Written {
  /** The event's id. */
  readonly id: string
  /** Whether it was there already, and so was not written again. */
  readonly duplicate: boolean
}

/** Where the caller's transaction leaves events. */
export interface Outbox {
  /**
   * Writes an event into the caller's transaction; the relay publishes it once that is committed. What cannot be
   * written is refused before the database sees it, so the transaction can go on.
   * @throws {OptionError} the pattern, the data or an option cannot be written; or there is no open transaction
   */
  publish(pattern: Pattern, data: unknown, options?: OutboxPublishOptions): Promise<Written>
}

/**
 * The outbox of the caller's own transaction.
 * @param sql the `sql` that postgres.js or Bun gives to the function of `begin`, or a client of `pg` that has begun one
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
      checkText('options.id', id)
      if (key !== undefined) checkText('options.key', key)
      const row = eventRow(pattern, data, headers)
      const values = [id, row.pattern, row.data, key ?? null, row.headers]
      const [written] = await transactionOf(sql).query(statement, values)
      return { id, duplicate: written!['position'] === null }
    }
  }
}

const PUBLISH =
  'select "elysia_microservices".publish($1::text, $2::text, $3::text::json, $4::text, $5::text::json) as position'
