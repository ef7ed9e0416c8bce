/** SQLite in the words of this package. `connection/` has the drivers of the runtimes: all of them are synchronous. */

/** A value in a row: SQLite's integers, texts and NULL. */
export type Value = number | string | null

/** A row that a statement returns. */
export type Row = Readonly<Record<string, Value>>

/** A prepared statement. */
export interface Statement {
  run(...values: readonly Value[]): void
  all(...values: readonly Value[]): readonly Row[]
  /** The first row; `undefined`: there is none. */
  get(...values: readonly Value[]): Row | undefined
}

/** One open file. Everything blocks the event loop until SQLite is done, so its callers ask for little at a time. */
export interface Database {
  /** Runs statements without values. */
  exec(sql: string): void
  prepare(sql: string): Statement
  /** Runs a statement once. */
  query(sql: string, ...values: readonly Value[]): readonly Row[]
  close(): void
}

/**
 * Opens a file, or a database in memory (`:memory:`).
 * @throws SQLite's error, as the runtime gives it
 */
export type Driver = (file: string) => Database
