/** `sqlite()` creates the store, a value that is passed to services and clients. */
import { connectedStore, type StoreEngine } from '@elysia-microservices/engine'
import {
  type Delivery,
  type EventStore,
  OptionError,
  type ServerTransport,
  STORES_EVERYTHING
} from '@elysia-microservices/transport/kit'
import { Files, type SqliteConnection } from './connection/files.ts'
import type { InTransaction } from './connection/in-transaction.ts'
import { runtimeDriver } from './connection/runtime.ts'
import type { Driver, Row, Value } from './driver.ts'
import { SqliteClientStore } from './durable/client-store.ts'
import { SqliteServerStore } from './durable/server-store.ts'
import { Transactions } from './durable/transactions.ts'
import { type SqliteOptions, sqliteOptions } from './options/options.ts'

/** Durable events in a file of this process, or in its memory. */
export interface SqliteStore extends EventStore {
  readonly name: 'sqlite'
  /**
   * Runs a function of a handler with `durable: { transactional: true }` in the transaction that acknowledges its event,
   * on tables of its own in the file. It is rolled back if the function fails; then the event comes again, as after any
   * failure. The function is synchronous, because nothing else can use the file meanwhile.
   * @param delivery the `delivery` of the handler's message
   * @param run gets a function that runs one statement
   * @returns the function's result
   * @throws {OptionError} the delivery is not that of a running transactional handler, or has a transaction already; or
   * the function is not synchronous
   * @throws the error of the function, or of SQLite
   */
  transaction<Result>(delivery: Delivery | undefined, run: InTransaction<Result>): Promise<Awaited<Result>>
  /**
   * Runs one statement on your own tables in the file, for example to create them. The file is opened if it is not open
   * in this process.
   * @throws {OptionError} the file cannot be used, or the statement would end its transaction
   * @throws SQLite's error, as the runtime gives it
   */
  query(sql: string, ...values: readonly Value[]): Promise<readonly Row[]>
}

/**
 * Keeps durable events in a file, by the SQLite that Bun and Node (from 22.13) have. One process owns the file. With
 * `':memory:'` the events are as old as the value.
 * @throws {OptionError} the file or an option is invalid
 * @example
 * ```ts
 * import { sqlite } from '@elysia-microservices/sqlite'
 * import { memory, microservice } from 'elysia-microservices'
 *
 * await microservice({ name: 'orders', transport: memory(), store: sqlite(':memory:') })
 *   .event('orders.placed', ({ data }) => console.log(data), { durable: true })
 *   .listen()
 * ```
 */
export function sqlite(file: string, options?: SqliteOptions): SqliteStore {
  return sqliteBy(runtimeDriver, file, options)
}

/** SQLite by another driver, for tests. */
export function sqliteBy(driver: Driver, file: string, options?: SqliteOptions): SqliteStore {
  const checked = sqliteOptions(file, options)
  const files = new Files(driver, checked)
  const transactions = new Transactions()
  const store = connectedStore<SqliteConnection>({
    name: 'sqlite',
    stores: { ...STORES_EVERYTHING, future: true, backlog: 'all', transactions: true },
    sharing: NOT_SHARED,
    engine: () => engineOf(files, checked.file),
    serverStore: () => new SqliteServerStore(checked, transactions),
    clientStore: (init) => new SqliteClientStore(init, checked.duplicateWindow, checked.clock)
  })
  return {
    ...store,
    name: 'sqlite',
    transaction: (delivery, run) => transactions.transaction(delivery, run),
    async query(sql, ...values) {
      const connection = await files.use()
      try {
        return connection.file.query(sql, ...values)
      } finally {
        await connection.close()
      }
    }
  }
}

/** Workers are processes of their own, and a file has one. */
const NOT_SHARED: NonNullable<ServerTransport['sharing']> = {
  async reserve() {
    throw new OptionError(
      'options.store',
      'sqlite() has one process, and options.workers starts several: leave out options.workers, or keep the events over an engine or a database (docs/production.md)'
    )
  },
  greeting: () => undefined,
  release() {},
  join() {},
  async answer() {}
}

function engineOf(files: Files, where: string): StoreEngine<SqliteConnection> {
  return {
    name: 'sqlite',
    title: 'SQLite',
    where: `'${where}'`,
    whyNot: (route) =>
      /[\p{Cc}\p{Cs}]/u.test(route) ? 'it has a control character or half of a character' : undefined,
    open: () => files.use()
  }
}
