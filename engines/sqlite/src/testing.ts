/** The exports for tests of other packages: the store over a driver of theirs. */

export { forgetFiles } from './connection/files.ts'
export { runtimeDriver } from './connection/runtime.ts'
export type { Driver } from './driver.ts'
export { type SqliteStore, sqliteBy } from './sqlite.ts'
