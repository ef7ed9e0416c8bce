/** `postgres()` creates the store, a value that is passed to services and clients. */
import { connectedStore, joinedHeaders, type StoreEngine } from '@elysia-microservices/engine'
import {
  checkText,
  type DatabaseSql,
  type TransactionOf,
  type TransactionSql,
  transactionOf
} from '@elysia-microservices/outbox/database'
import {
  checkPublishOptions,
  type Delivery,
  type EventStore,
  jsonCodec,
  type Pattern,
  type Published,
  type PublishOptions,
  routeOf,
  STORES_EVERYTHING
} from '@elysia-microservices/transport/kit'
import { fullError, storeEvents } from './connection/in-transaction.ts'
import { PostgresConnection } from './connection/postgres-connection.ts'
import { PostgresClientStore } from './durable/client-store.ts'
import { PostgresServerStore } from './durable/server-store.ts'
import { Transactions } from './durable/transactions.ts'
import { type CheckedOptions, type PostgresOptions, postgresOptions } from './options/options.ts'

/** Publishes in a transaction of the caller. */
export interface PublishingTransaction {
  /**
   * Stores an event in the caller's transaction: groups get it if, and only if, that is committed.
   * @throws {OptionError} the pattern, the data or an option cannot be stored; or there is no open transaction
   * @throws {NotStoredError} the log is full (`maxBytes`); the transaction can go on
   */
  publish(
    pattern: Pattern,
    data: unknown,
    options?: Pick<PublishOptions, 'id' | 'key' | 'headers' | 'at' | 'delay'>
  ): Promise<Published>
  /**
   * Acknowledges the event of a transactional handler in the caller's transaction: for programs whose transactions this
   * package cannot begin, such as those of Prisma. If that is rolled back, the event comes again. A transaction of a
   * handler that has this from `PostgresStore.transaction` is acknowledged already.
   * @param delivery the `delivery` of the handler's message
   * @throws {OptionError} the delivery is not that of a running transactional handler; or there is no open transaction
   * @throws {Error} the event is acknowledged already, or another process has it: the transaction must be rolled back
   */
  acknowledge(delivery: Delivery | undefined): Promise<void>
}

/** Durable events in PostgreSQL. */
export interface PostgresStore<Sql extends DatabaseSql = DatabaseSql> extends EventStore {
  readonly name: 'postgres'
  /**
   * Publishes in the caller's own transaction.
   * @param transaction the `sql` that postgres.js or Bun passes to the function of `begin`, or a client of `pg` that
   * has begun a transaction, or the client that Prisma passes to the function of `$transaction`
   */
  in(transaction: TransactionSql): PublishingTransaction
  /**
   * Runs a function of a handler with `durable: { transactional: true }` in the transaction that acknowledges its event.
   * It is begun as read committed, and rolled back if the function fails; then the event comes again, as after any
   * failure. There are at most as many transactions as the pool has connections, less two; others wait.
   * @param delivery the `delivery` of the handler's message
   * @param run gets the transaction as the driver's users do
   * @returns the function's result, when the transaction is committed
   * @throws {OptionError} the delivery is not that of a running transactional handler, or has a transaction already
   * @throws the error of the function, or of the database
   */
  transaction<Result>(
    delivery: Delivery | undefined,
    run: (transaction: TransactionOf<Sql>) => PromiseLike<Result> | Result
  ): Promise<Result>
}

/**
 * Keeps durable events in PostgreSQL (14 or later), over the connections of the user's own `sql`. `migrateEvents(sql)` creates
 * the tables.
 * @throws {OptionError} an option is invalid
 * @example
 * ```ts
 * import { migrateEvents, postgres } from '@elysia-microservices/postgres'
 * import { memory, microservice } from 'elysia-microservices'
 * import pg from 'pg'
 *
 * const sql = new pg.Pool({ connectionString: 'postgres://localhost/shop' })
 * await migrateEvents(sql)
 * await microservice({ name: 'billing', transport: memory(), store: postgres({ sql }) })
 *   .event('orders.placed', ({ data }) => console.log(data), { durable: true })
 *   .listen()
 * ```
 */
export function postgres<Sql extends DatabaseSql>(options: PostgresOptions<Sql>): PostgresStore<Sql> {
  const checked = postgresOptions(options)
  const transactions = new Transactions(options.sql, checked.schema)
  const store = connectedStore<PostgresConnection>({
    name: 'postgres',
    stores: { ...STORES_EVERYTHING, future: true, backlog: 'all', transactions: true },
    engine: () => engineOf(checked),
    serverStore: (context) => new PostgresServerStore(checked, transactions, context),
    clientStore: (init) => new PostgresClientStore(init, checked)
  })
  return {
    ...store,
    name: 'postgres',
    in: (transaction) => ({
      publish: (pattern, data, given = {}) => publishIn(transaction, checked, pattern, data, given),
      acknowledge: (delivery) => transactions.acknowledge(transaction, delivery)
    }),
    transaction: (delivery, run) => transactions.transaction(delivery, run)
  }
}

function engineOf({ sql, schema }: CheckedOptions): StoreEngine<PostgresConnection> {
  return {
    name: 'postgres',
    title: 'PostgreSQL',
    where: `the schema ${schema}`,
    whyNot: whyNotText,
    open: (listener) => PostgresConnection.open(sql, schema, listener)
  }
}

function whyNotText(route: string): string | undefined {
  if (/[\p{Cc}\p{Cs}]/u.test(route)) return 'it has a control character or half of a character'
  return Buffer.byteLength(route) > 1_024 ? 'it has more than 1,024 bytes' : undefined
}

async function publishIn(
  transaction: TransactionSql,
  { schema, ...keeping }: CheckedOptions,
  pattern: Pattern,
  data: unknown,
  given: Pick<PublishOptions, 'id' | 'key' | 'headers' | 'at' | 'delay'>
): Promise<Published> {
  checkPublishOptions(given)
  const { id = crypto.randomUUID(), key, headers } = given
  const route = routeOf(pattern)
  checkText('pattern', route)
  const row = {
    pattern: route,
    id,
    key,
    headers: headers && JSON.stringify(joinedHeaders(headers)),
    body: data === undefined ? '{}' : `{"data":${jsonCodec.encode(data)}}`,
    due: given.at?.getTime(),
    delay: given.delay || undefined
  }
  const [stored] = await storeEvents(transactionOf(transaction), schema, [row], keeping, true)
  if (stored?.full !== undefined) throw fullError(stored.full, keeping.maxBytes)
  return { id, position: stored?.position, duplicate: stored?.isDuplicate === true }
}
