/** The exports for users of SQLite. */
export type { SqliteOptions } from './options/options.ts'
export { type SqliteStore, sqlite } from './sqlite.ts'
