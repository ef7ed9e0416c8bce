/** `sqlite()` creates the store, a value that is passed to services and clients. */
import { connectedStore, type StoreEngine } from '@elysia-microservices/engine'
import {
  type EventStore,
  OptionError,
  type ServerTransport,
  STORES_EVERYTHING
} from '@elysia-microservices/transport/kit'
import { Files, type SqliteConnection } from './connection/files.ts'
import { runtimeDriver } from './connection/runtime.ts'
import type { Driver } from './driver.ts'
import { SqliteClientStore } from './durable/client-store.ts'
import { SqliteServerStore } from './durable/server-store.ts'
import { type SqliteOptions, sqliteOptions } from './options/options.ts'

/** Durable events in a file of this process, or in its memory. */
export interface SqliteStore extends EventStore {
  readonly name: 'sqlite'
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
  const store = connectedStore<SqliteConnection>({
    name: 'sqlite',
    stores: { ...STORES_EVERYTHING, future: true },
    sharing: NOT_SHARED,
    engine: () => engineOf(files, checked.file),
    serverStore: () => new SqliteServerStore(checked),
    clientStore: (init) => new SqliteClientStore(init, checked.duplicateWindow, checked.clock)
  })
  return { ...store, name: 'sqlite' }
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
