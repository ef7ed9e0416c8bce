/** `inbox()`: remembers the ids of messages in the transaction of their effect, so that it happens exactly once. */
import { checkNames, OptionError } from '@elysia-microservices/transport/kit'
import { type DatabaseSql, databaseOf, type TransactionOf } from './database/adapter.ts'
import { checkText } from './event.ts'
import { type PruneOptions, prune } from './prune.ts'
import { checkSchema, inSchema, type SchemaOptions } from './schema.ts'

/** A consumer that remembers what it has handled. */
export interface Inbox<Transaction> {
  /**
   * Runs a handler in a transaction, unless one has run for this id already, and remembers the id in that transaction:
   * what the handler writes through it happens exactly once. If the same id is being handled elsewhere, this waits for
   * the end of that. If the handler fails, everything is rolled back, the id forgotten, and its error thrown.
   * @param id such as `delivery.id`
   * @returns whether the handler has run: false for a duplicate
   * @throws {OptionError} the id is not a text that PostgreSQL can keep
   */
  once(id: string, handler: (transaction: Transaction) => unknown): Promise<boolean>
  /**
   * Forgets ids. A message that comes again afterwards is handled again, so keep them for longer than the engine keeps
   * messages. @returns how many
   */
  prune(options: PruneOptions): Promise<number>
}

/**
 * An inbox.
 * @param sql the `sql` of postgres.js or of Bun, or a pool of `pg`; transactions are begun on it
 * @param name whose memory it is. Inboxes of one name share it, so every handler of an event has one of its own, such as
 * `billing.settled`.
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
        // Waits while another transaction that inserts the same id is open.
        const remembered = await connection.query(inSchema(REMEMBER, schema), [name, id])
        if (remembered.length === 0) return false
        await handler(transaction as TransactionOf<Sql>)
        // A handler that swallows the error of a statement leaves a transaction that can only be rolled back, which
        // PostgreSQL does when it is told to commit, without an error. This statement fails then.
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
