/** The exports for tests of other packages: the store over a driver of theirs. */

export { runtimeDriver } from './connection/runtime.ts'
export type { Driver } from './driver.ts'
export { type SqliteStore, sqliteBy } from './sqlite.ts'
