/**
 * `inbox()`: stores the ids of handled messages in the same transaction as the handler's writes, so that these
 * happen exactly once.
 */
import { checkNames, OptionError } from '@elysia-microservices/transport/kit'
import { type DatabaseSql, databaseOf, type TransactionOf } from './database/adapter.ts'
import { checkText } from './event.ts'
import { type PruneOptions, prune } from './prune.ts'
import { checkSchema, inSchema, type SchemaOptions } from './schema.ts'

/** Remembers which messages were handled. */
export interface Inbox<Transaction> {
  /**
   * Runs a handler in a transaction, unless a handler has already run for this id, and stores the id in the same
   * transaction. So what the handler writes in the transaction happens exactly once. If the same id is being
   * handled elsewhere, this call waits for that handler to end. If the handler fails, everything including the id
   * is rolled back, and the handler's error is thrown.
   * @param id such as `delivery.id`
   * @returns whether the handler has run: false for a duplicate
   * @throws {OptionError} PostgreSQL cannot store the id
   */
  once(id: string, handler: (transaction: Transaction) => unknown): Promise<boolean>
  /**
   * Removes ids. A message whose id was removed is handled again if it arrives once more, so keep ids longer than
   * the broker keeps messages. @returns how many ids were removed
   */
  prune(options: PruneOptions): Promise<number>
}

/**
 * An inbox.
 * @param sql the `sql` of postgres.js or of Bun, or a pool of `pg`; the inbox begins transactions on it
 * @param name the name under which ids are stored. Inboxes with the same name share their ids, so use another name
 * for each handler of an event, such as `billing.settled`.
 * @throws {OptionError} an argument is invalid
 * @example
 * ```ts
 * import { inbox } from '@elysia-microservices/outbox'
 * import postgres from 'postgres'
 *
 * const settled = inbox(postgres('postgres://localhost/shop'), 'billing.settled')
 * await settled.once('evt-7', (tx) => tx`update balance set cents = cents + 5`)
 * ```
 */
export function inbox<Sql extends DatabaseSql>(
  sql: Sql,
  name: string,
  options: SchemaOptions = {}
): Inbox<TransactionOf<Sql>> {
  checkText('name', name)
  checkNames('options', options, ['schema'])
  const schema = checkSchema(options.schema)
  const database = databaseOf(sql)
  return {
    async once(id, handler) {
      checkText('id', id)
      if (typeof handler !== 'function') throw OptionError.expected('handler', 'a function', handler)
      return database.transaction(async (connection, transaction) => {
        // This statement waits while another transaction that has inserted the same id is open.
        const remembered = await connection.query(inSchema(REMEMBER, schema), [name, id])
        if (remembered.length === 0) return false
        await handler(transaction as TransactionOf<Sql>)
        // If a handler ignores the error of a statement, its transaction can only be rolled back. On `commit`
        // PostgreSQL would then roll back without an error. So this statement is run, which fails in such a
        // transaction.
        await connection.query('select 1')
        return true
      })
    },
    prune: (options) => prune(database, inSchema(PRUNE, schema), options, name)
  }
}

const REMEMBER = `insert into "elysia_microservices".inbox (name, id) values ($1::text, $2::text)
on conflict do nothing returning true`

const PRUNE = `delete from "elysia_microservices".inbox where (name, id) in (
  select name, id from "elysia_microservices".inbox
  where handled_at < now() - $1::text::double precision * interval '1 millisecond' and name = $3::text
  order by handled_at limit $2::text::integer)
returning true`
