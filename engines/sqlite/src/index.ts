/** The exports for users of SQLite. */
export type { InTransaction, SqliteQuery } from './connection/in-transaction.ts'
export type { SqliteOptions } from './options/options.ts'
export { type SqliteStore, sqlite } from './sqlite.ts'
